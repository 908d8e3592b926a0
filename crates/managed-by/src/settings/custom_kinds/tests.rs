use crate::settings::tests::problems;

/// An entry of `custom_kinds` with some of its keys.
fn workflow(more: &str) -> String {
    format!(
        r#"{{"group":"argoproj.io","kind":"Workflow","plural":"workflows"{}{more}}}"#,
        if more.is_empty() { "" } else { "," }
    )
}

#[test]
fn problems_of_custom_kinds() {
    let mut all = String::new();
    for kinds in [
        "{}".to_owned(),
        "[1]".to_owned(),
        "[{}]".to_owned(),
        r#"[{"group":"Acme.io","kind":"workflow","plural":"Workflows","versions":[]}]"#.to_owned(),
        r#"[{"group":"apps","kind":"Work flow","plural":"","versions":["1"]}]"#.to_owned(),
        r#"[{"group":"batch","kind":"Job","plural":"jobs"}]"#.to_owned(),
        r#"[{"group":"jobset.x-k8s.io","kind":"JobSet","plural":"jobsets"}]"#.to_owned(),
        format!("[{},{}]", workflow(""), workflow("")),
        format!("[{}]", workflow(r#""managedBy":"spec.managedBy""#)),
        format!("[{}]", workflow(r#""managed_by":"status.managedBy""#)),
        format!("[{}]", workflow(r#""managed_by":"spec""#)),
        format!("[{}]", workflow(r#""managed_by":"spec..managedBy""#)),
        format!("[{}]", workflow(r#""managed_by":"spec.tasks[].managedBy""#)),
        format!(
            "[{}]",
            workflow(&format!(r#""managed_by":"spec{}""#, ".a".repeat(16)))
        ),
        format!("[{}]", workflow(r#""reserved":"""#)),
        format!("[{}]", workflow(r#""reserved":"argo""#)),
        format!(
            "[{}]",
            workflow(r#""reserved":"kueue.x-k8s.io/multikueue""#)
        ),
        format!("[{}]", workflow(r#""reserved":"a.io/x","form":["a.io/y"]"#)),
        format!("[{}]", workflow(r#""form":"paths""#)),
        format!("[{}]", workflow(r#""form":[]"#)),
        format!("[{}]", workflow(r#""holder":"templates""#)),
        format!(
            "[{}]",
            workflow(r#""status":{"sucess":{"condition":"Done"}}"#)
        ),
        format!("[{}]", workflow(r#""status":{"success":{}}"#)),
        format!("[{}]", workflow(r#""status":{"success":"Done"}"#)),
        format!("[{}]", workflow(r#""status":{"success":{"condition":""}}"#)),
        format!(
            "[{}]",
            workflow(r#""status":{"success":{"path":"status.phase"}}"#)
        ),
        format!(
            "[{}]",
            workflow(r#""status":{"success":{"values":["Done"]}}"#)
        ),
        format!(
            "[{}]",
            workflow(
                r#""status":{"success":{"condition":"Done","path":"status.phase","values":["Done"]}}"#
            )
        ),
        format!(
            "[{}]",
            workflow(r#""status":{"success":{"path":"phase","values":[]}}"#)
        ),
        format!(
            "[{}]",
            workflow(r#""status":{"success":{"condition":"Done"},"failure":{"condition":"Done"}}"#)
        ),
        format!(
            "[{}]",
            workflow(
                r#""status":{"success":{"path":"status.phase","values":["A"]},"failure":{"path":"status.phase","values":["B","A"]}}"#
            )
        ),
        format!(
            "[{}]",
            workflow(
                r#""status":{"start":"status.at","end":"status.at","totals":["status.a"],"counters":["status.a","status.b[].c","status.b"]}"#
            )
        ),
        format!(
            "[{}]",
            workflow(
                r#""status":{"success":{"condition":"Done"},"counters":["status.conditions[].n"]}"#
            )
        ),
        format!("[{}]", workflow(r#""status":{"totals":["status.a[].b"]}"#)),
        format!("[{}]", vec![workflow(""); 65].join(",")),
    ] {
        let json = format!(r#"{{"custom_kinds":{kinds}}}"#);
        let kinds: String = kinds.chars().take(160).collect();
        all.extend([&kinds, "\n"]);
        for problem in problems(&json) {
            all.extend(["    ", &problem, "\n"]);
        }
    }
    expect_test::expect_file!["problems.txt"].assert_eq(&all);
}

/// What is wrong with the users is told beside what is wrong with the kind.
#[test]
fn the_writers_of_an_unknown_kind_are_read_too() {
    let kinds = workflow("");
    let json =
        format!(r#"{{"custom_kinds":[{kinds}],"standard_status_writers":{{"CronJob":[]}}}}"#);
    let problems = problems(&json);
    let [kind, users] = &*problems else {
        panic!("{problems:?}");
    };
    assert!(
        kind.starts_with(
            r#"standard_status_writers["CronJob"]: no such kind, expected one of Job"#
        ) && kind.ends_with("MPIJob, Workflow"),
        "{kind}"
    );
    assert!(
        users.starts_with(r#"standard_status_writers["CronJob"]: got an empty list"#),
        "{users}"
    );
}
