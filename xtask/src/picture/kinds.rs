//! Kinds and what is checked of each: by its own API, by the policy, by nobody.

use std::collections::BTreeMap;

use anyhow::Result;
use managed_by::{Enforcement, Form, Holder, Kind, kinds};

use super::canvas::Canvas;
use crate::kinds::{name, questions::verdicts};

/// What a cell says: a short word, and its colour.
type Cell = (&'static str, &'static str);

const UPSTREAM: Cell = ("upstream", "blue");
const DENIES: Cell = ("denies", "green");
const WARNS: Cell = ("warns", "amber");
const SETTINGS: Cell = ("settings", "green dashed");
const GAP: Cell = ("gap", "red dashed");
const NONE: Cell = ("", "");

type Verdicts = BTreeMap<&'static str, Enforcement>;

/// A column: its heading, and what it says of a kind.
type Column = (&'static str, &'static str, fn(&Kind<'_>, &Verdicts) -> Cell);

const COLUMNS: [Column; 8] = [
    ("form of", "the value", form),
    ("no change", "of the field", |kind, fired| {
        match kind.holder() {
            Holder::Template(_) => NONE,
            Holder::Workload if kind.is_built_in() => UPSTREAM,
            Holder::Workload => here(fired, "managed-by/immutable"),
        }
    }),
    ("typos", "", |_, fired| {
        here(fired, "managed-by/reserved-domain")
    }),
    ("orphaned", "children", |_, fired| {
        here(fired, "managed-by/nested")
    }),
    ("outcome", "is final", |kind, fired| {
        status(kind, fired, "status/outcome-changed")
    }),
    ("counters", "", |kind, fired| {
        status(kind, fired, "status/negative-counter")
    }),
    ("times", "", |kind, fired| {
        status(kind, fired, "status/end-before-start")
    }),
    ("allow-list,", "writers", |_, fired| {
        match fired.get("managed-by/allowed") {
            Some(_) => SETTINGS,
            None => NONE,
        }
    }),
];

/// What the policy does by a rule, if it has the rule for the kind.
fn here(fired: &Verdicts, rule: &str) -> Cell {
    match fired.get(rule) {
        Some(Enforcement::Deny) => DENIES,
        Some(Enforcement::Warn) => WARNS,
        Some(Enforcement::Off) | None => NONE,
    }
}

fn form(kind: &Kind<'_>, fired: &Verdicts) -> Cell {
    match kind.form() {
        Form::Path | Form::OneOf(_) => UPSTREAM,
        Form::Open => here(fired, "managed-by/unchecked-format"),
    }
}

fn status(kind: &Kind<'_>, fired: &Verdicts, rule: &str) -> Cell {
    match kind.holder() {
        // kube-apiserver has all of them for a Job, and the policy as well.
        Holder::Workload if kind.is_built_in() => UPSTREAM,
        // Its status says what it has made, not how it ended.
        Holder::Template(_) => NONE,
        Holder::Workload => here(fired, rule),
    }
}

/// What nobody checks of a kind, from its profile.
fn gap(kind: &Kind<'_>) -> Option<String> {
    if !kind.steps_back() {
        return Some("its controller ignores the field".to_owned());
    }
    let pruned = kind.pruned_in();
    (!pruned.is_empty()).then(|| format!("writes through {} drop the field", pruned.join(", ")))
}

pub(super) fn draw() -> Result<String> {
    const LEFT: i32 = 150;
    const CELL: (i32, i32) = (76, 24);
    const TOP: i32 = 96;
    let rows = i32::try_from(kinds().len())?;
    let height = TOP + rows * (CELL.1 + 4) + 92;
    let description = "A table. Rows: every kind with the field managedBy. Columns: the form of the value, changes of the field, \
        typos, orphaned children, the outcome, counters, times, and the site-specific rules. Each cell says who checks it: upstream \
        (the kind's own API, and the policy too), the policy denies, the policy warns, or the policy checks it with settings. \
        An empty cell does not apply to the kind. The page lists the same facts as text.";
    let mut canvas = Canvas::new(1100, height, "Kinds, and who checks what", description);
    canvas.text((16, 34), "title", "Who checks what");
    for (index, (first, second, _)) in (0_i32..).zip(&COLUMNS) {
        let x = LEFT + index * (CELL.0 + 6) + CELL.0 / 2;
        canvas.text((x, 64), "small strong middle", first);
        canvas.text((x, 80), "small strong middle", second);
    }
    let gaps = LEFT + 8 * (CELL.0 + 6) + 8;
    canvas.text((gaps, 64), "small strong", "known gap");
    for (row, kind) in (0_i32..).zip(kinds()) {
        let fired = verdicts(kind)?;
        let y = TOP + row * (CELL.1 + 4);
        canvas.text((16, y + 17), "", &name(kind));
        for (column, (_, _, judge)) in (0_i32..).zip(&COLUMNS) {
            let (word, class) = judge(kind, &fired);
            let at = (LEFT + column * (CELL.0 + 6), y);
            if word.is_empty() {
                canvas.text((at.0 + CELL.0 / 2, y + 16), "small muted middle", "–");
            } else {
                canvas.labelled(at, CELL, class, word);
            }
        }
        if let Some(gap) = gap(kind) {
            canvas.labelled((gaps, y), (40, CELL.1), GAP.1, GAP.0);
            canvas.text((gaps + 48, y + 16), "small", &gap);
        }
    }
    let y = height - 74;
    for (index, (cell, meaning)) in (0_i32..).zip([
        (UPSTREAM, "the kind's own API checks it, the policy too"),
        (
            DENIES,
            "the policy denies by default (some APIs check a part)",
        ),
        (WARNS, "the policy warns by default"),
        (SETTINGS, "the policy denies with your settings"),
    ]) {
        let at = (16 + (index % 2) * 400, y + (index / 2) * 32);
        canvas.labelled(at, CELL, cell.1, cell.0);
        canvas.text((at.0 + CELL.0 + 10, at.1 + 16), "small", meaning);
    }
    canvas.text(
        (816, y + 16),
        "small muted",
        "Status rules of custom kinds deny",
    );
    canvas.text(
        (816, y + 34),
        "small muted",
        "on delegated objects and warn on others.",
    );
    Ok(canvas.finish())
}
