//! The recording of `make record` as a terminal, and as the blocks that the README shows.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use textwrap::{Options, WordSplitter};

use super::canvas::Canvas;
use crate::generated::{Generated, between_marks, read};

const TRANSCRIPT: &str = "docs/pictures/first-screen.json";

/// What was typed in a real cluster, and what came back.
#[derive(Debug, Deserialize)]
pub struct Transcript {
    date: String,
    versions: Vec<String>,
    scenes: Vec<Scene>,
}

#[derive(Debug, Deserialize)]
struct Scene {
    title: String,
    commands: Vec<Command>,
}

#[derive(Debug, Deserialize)]
struct Command {
    command: String,
    output: String,
}

impl Transcript {
    fn read() -> Result<Self> {
        serde_json::from_str(&read(TRANSCRIPT)?).context(TRANSCRIPT)
    }
}

/// The pages with what the recording shows, one scene between each pair of marks.
///
/// # Errors
/// If the recording or a page cannot be read, or a mark is missing.
pub fn generated() -> Result<Vec<Generated>> {
    const OPERATIONS: &str = "docs/operations.md";
    let transcript = Transcript::read()?;
    let (mut readme, mut operations) = (read("README.md")?, read(OPERATIONS)?);
    let marks = ["without", "with", "monitor", "protect"];
    for (scene, mark) in transcript.scenes.iter().zip(marks) {
        let mut text = "\n```text\n".to_owned();
        for command in &scene.commands {
            writeln!(text, "$ {}\n{}", command.command, command.output)?;
        }
        text.push_str("```\n\n");
        let page = if mark == "protect" {
            &mut operations
        } else {
            &mut readme
        };
        *page = between_marks(page, mark, &text)?;
    }
    Ok(vec![
        Generated::new("README.md", readme),
        Generated::new(OPERATIONS, operations),
    ])
}

const COLUMNS: usize = 104;
const LINE: i32 = 19;

pub(super) fn draw() -> Result<String> {
    let transcript = Transcript::read()?;
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut spoken = String::new();
    // The other scenes are for the section on installing.
    for scene in transcript.scenes.iter().take(2) {
        lines.push(("strong blue", format!("# {}", scene.title)));
        write!(spoken, "{}. ", scene.title)?;
        for command in &scene.commands {
            lines.push(("code strong", format!("$ {}", command.command)));
            write!(
                spoken,
                "{}: {}. ",
                command.command,
                command.output.replace('\n', " ")
            )?;
            for line in command.output.lines() {
                let class = match line.split(':').next() {
                    Some("Error from server") => "code red",
                    Some("Warning") => "code amber",
                    _ => "code",
                };
                // Between words, not within them.
                let options = Options::new(COLUMNS).word_splitter(WordSplitter::NoHyphenation);
                let pieces = textwrap::wrap(line, options).into_iter();
                lines.extend(pieces.map(|piece| (class, piece.into_owned())));
            }
        }
        lines.push(("code", String::new()));
    }
    let height = 40 + i32::try_from(lines.len())? * LINE + 20;
    let mut canvas = Canvas::new(
        860,
        height,
        "The same Job without the policy and with it",
        &spoken,
    );
    canvas.rectangle((8, 8), (844, height - 16), "panel");
    let mut y = 40;
    for (class, line) in lines {
        // SVG folds runs of spaces.
        canvas.text((28, y), class, &line.replace(' ', "\u{a0}"));
        y += LINE;
    }
    canvas.text(
        (28, height - 22),
        "small muted",
        &format!(
            "Recorded on {} with {}.",
            transcript.date,
            transcript.versions.join(" and ")
        ),
    );
    Ok(canvas.finish())
}
