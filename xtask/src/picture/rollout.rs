//! The steps from nothing to a policy that denies.

use managed_by::rules;

use super::canvas::Canvas;

struct Step {
    title: &'static str,
    mode: &'static str,
    denies: &'static str,
    shows: &'static str,
    next: &'static str,
    class: &'static str,
}

const STEPS: [Step; 4] = [
    Step {
        title: "1  Settings",
        mode: "kwctl run -s ...",
        denies: "Denies nothing.",
        shows: "You see every problem of the settings.",
        next: "",
        class: "plain",
    },
    Step {
        title: "2  Watch",
        mode: "mode: monitor",
        denies: "Denies nothing.",
        shows: "You see would-be denials in logs and reports.",
        next: "when the reports show what you expect",
        class: "blue",
    },
    Step {
        title: "3  Warn",
        mode: "mode: protect",
        denies: "Upstream rules deny. Site-specific rules warn.",
        shows: "Users see warnings in kubectl.",
        next: "when nobody is warned by mistake",
        class: "amber",
    },
    Step {
        title: "4  Deny",
        mode: "mode: protect",
        denies: "Site-specific rules deny too.",
        shows: "The user sees the rule and what to do.",
        next: "",
        class: "green",
    },
];

pub(super) fn draw() -> String {
    let site = rules().iter().filter(|rule| rule.is_site_specific());
    let site: Vec<_> = site
        .map(|rule| rule.id())
        .filter(|id| !id.starts_with("pods/"))
        .collect();
    let description = format!(
        "Step 1: choose and check the settings. Step 2: mode monitor, nothing is denied. Step 3: mode protect with the site-specific \
         rules at warn ({}). Step 4: remove them from the list one by one. A rule may go back to warn or off at any time; \
         Kubewarden does not let a policy go back from protect to monitor.",
        site.join(", ")
    );
    let mut canvas = Canvas::new(960, 400, "The rollout ladder", &description);
    let (width, height) = (340, 84);
    for (index, step) in (0_i32..).zip(&STEPS) {
        let (x, y) = (16 + index * 196, 300 - index * 94);
        canvas.rectangle((x, y), (width, height), step.class);
        canvas.text((x + 14, y + 24), "title", step.title);
        canvas.text((x + 128, y + 24), "code", step.mode);
        canvas.text((x + 14, y + 48), "small strong", step.denies);
        canvas.text((x + 14, y + 68), "small", step.shows);
        if index < 3 {
            canvas.arrow(&[(x + 130, y), (x + 130, y - 52), (x + 194, y - 52)], false);
            canvas.text((x + 120, y - 20), "small muted end", step.next);
        }
    }
    canvas.text((572, 268), "small strong", "In step 3, set to warn:");
    for (index, id) in (0_i32..).zip(&site) {
        canvas.text((572, 290 + index * 18), "code", *id);
    }
    canvas.text((772, 268), "small strong", "Go back:");
    canvas.text((772, 290), "small", "a rule to warn or off: at once");
    canvas.text((772, 308), "small", "protect to monitor: delete");
    canvas.text((772, 326), "small", "the policy, create it again");
    canvas.finish()
}
