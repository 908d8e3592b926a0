//! Who writes what, where the policy stands, and what becomes of a typo.

use super::canvas::Canvas;

const DESCRIPTION: &str = "On the management cluster, a user creates a Job with managedBy: kueue.x-k8s.io/multikueue. \
    The policy checks it (1). MultiKueue copies the Job to the worker cluster, without managedBy. There the policy checks \
    the copy (2), the Job controller runs it and writes its status. MultiKueue copies the status back, and the policy checks \
    each status update (3). If managedBy has a typo, no controller runs the Job: it is orphaned.";

pub(super) fn draw() -> String {
    let mut canvas = Canvas::new(
        960,
        440,
        "Two clusters, and where the policy checks",
        DESCRIPTION,
    );
    canvas.rectangle((16, 16), (560, 336), "panel");
    canvas.text((32, 42), "title", "Management cluster");
    canvas.rectangle((624, 16), (320, 336), "panel");
    canvas.text((640, 42), "title", "Worker cluster");

    good(&mut canvas);
    bad(&mut canvas);
    legend(&mut canvas);
    canvas.finish()
}

/// The way of a good Job, and of its status.
fn good(canvas: &mut Canvas) {
    canvas.labelled(
        (32, 84),
        (96, 56),
        "plain",
        &[("strong", "User"), ("small muted", "creates a Job")],
    );
    canvas.arrow(&[(128, 112), (216, 112)], false);
    canvas.shield((172, 112), "1");
    canvas.labelled(
        (218, 64),
        (200, 96),
        "blue",
        &[
            ("strong", "Job"),
            ("code", "managedBy:"),
            ("code", "kueue.x-k8s.io/multikueue"),
            ("small", "delegated"),
        ],
    );
    canvas.arrow(&[(418, 112), (446, 112)], false);
    canvas.labelled(
        (448, 64),
        (112, 176),
        "plain",
        &[
            ("strong", "MultiKueue"),
            ("small muted", "external"),
            ("small muted", "controller"),
        ],
    );
    canvas.arrow(&[(560, 96), (718, 96)], false);
    canvas.text((676, 66), "small middle", "copies the Job");
    canvas.shield((672, 96), "2");
    canvas.labelled(
        (720, 64),
        (208, 72),
        "blue",
        &[
            ("strong", "Job"),
            ("code", "managedBy: (unset)"),
            ("small", "not delegated"),
        ],
    );
    canvas.arrow(&[(824, 136), (824, 172)], false);
    canvas.labelled(
        (720, 174),
        (208, 62),
        "plain",
        &[
            ("strong", "Job controller"),
            ("small muted", "runs the pods, writes the status"),
        ],
    );
    // The status on its way back.
    canvas.arrow(&[(720, 206), (562, 206)], false);
    canvas.text((652, 198), "small middle", "reads the status");
    canvas.arrow(&[(448, 206), (320, 206), (320, 162)], false);
    canvas.shield((384, 206), "3");
    canvas.text((310, 196), "small end", "copies the");
    canvas.text((310, 212), "small end", "status back");
}

/// The way of a typo.
fn bad(canvas: &mut Canvas) {
    canvas.arrow(&[(80, 140), (80, 292), (216, 292)], true);
    canvas.labelled(
        (218, 254),
        (200, 78),
        "red",
        &[
            ("strong", "Job"),
            ("code", "managedBy:"),
            ("code", "kueue.x-k8s.io/multikeue"),
        ],
    );
    canvas.text((92, 262), "small red", "without the policy:");
    canvas.text((92, 280), "small red", "a typo is accepted");
    canvas.arrow(&[(418, 292), (446, 292)], true);
    canvas.labelled(
        (448, 258),
        (112, 70),
        "red dashed",
        &[
            ("strong red", "nobody"),
            ("small red", "orphaned,"),
            ("small red", "no event"),
        ],
    );
}

fn legend(canvas: &mut Canvas) {
    canvas.shield((40, 392), "");
    canvas.text((64, 384), "", "The policy checks each write:");
    canvas.text(
        (64, 404),
        "small muted",
        "1 the field: typos, form, allow-list, role.   2 the copy: a worker delegates nothing.   3 each status update: the rules, and who writes it.",
    );
}
