//! What all pictures share: colours for dark and light, boxes, arrows, texts, and a text alternative.

use svg::Document;
use svg::node::element::{
    Definitions, Description, Group, Marker, Path, Polygon, Rectangle, Style, Text, Title,
};

/// Colours of light and dark. Every picture has a background of its own, so that it reads on any page.
const STYLE: &str = "
:root {
  --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --muted: #59636e; --line: #818b98;
  --blue: #0550ae; --blue-fill: #ddf4ff; --green: #116329; --green-fill: #dafbe1;
  --amber: #7d4e00; --amber-fill: #fff8c5; --red: #a40e26; --red-fill: #ffebe9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1117; --panel: #151b23; --ink: #f0f6fc; --muted: #9198a1; --line: #656c76;
    --blue: #79c0ff; --blue-fill: #0c2d6b; --green: #7ee787; --green-fill: #04260f;
    --amber: #f2cc60; --amber-fill: #341a00; --red: #ffa198; --red-fill: #490202;
  }
}
text { font-family: system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; font-size: 14px; fill: var(--ink); }
.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 12.5px; }
.small { font-size: 12px; }
.muted { fill: var(--muted); }
.title { font-size: 16px; font-weight: 600; }
.strong { font-weight: 600; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.ground { fill: var(--ground); }
.box { stroke-width: 1.5; }
.panel { fill: var(--panel); stroke: var(--line); }
.plain { fill: var(--ground); stroke: var(--line); }
.blue { fill: var(--blue-fill); stroke: var(--blue); }
.green { fill: var(--green-fill); stroke: var(--green); }
.amber { fill: var(--amber-fill); stroke: var(--amber); }
.red { fill: var(--red-fill); stroke: var(--red); }
.dashed { stroke-dasharray: 5 4; }
.arrow { fill: none; stroke: var(--ink); stroke-width: 1.75; }
.arrow.danger { stroke: var(--red); }
.head { fill: var(--ink); }
.head.danger { fill: var(--red); }
text.blue { fill: var(--blue); stroke: none; }
text.green { fill: var(--green); stroke: none; }
text.amber { fill: var(--amber); stroke: none; }
text.red { fill: var(--red); stroke: none; }
";

/// A picture in the making. Coordinates are pixels from the top left.
pub(super) struct Canvas {
    document: Document,
}

impl Canvas {
    /// A picture of that size, with what it says for those who do not see it.
    pub(super) fn new(width: i32, height: i32, title: &str, description: &str) -> Self {
        let ground = Rectangle::new()
            .set("class", "ground")
            .set("width", width)
            .set("height", height)
            .set("rx", 8);
        let document = Document::new()
            .set("viewBox", (0, 0, width, height))
            .set("width", width)
            .set("height", height)
            .set("role", "img")
            .set("aria-labelledby", "title description")
            .add(Title::new(title).set("id", "title"))
            .add(
                Description::new()
                    .set("id", "description")
                    .add(svg::node::Text::new(description)),
            )
            .add(Style::new(STYLE))
            .add(
                Definitions::new()
                    .add(head("head", "head"))
                    .add(head("danger", "head danger")),
            )
            .add(ground);
        Self { document }
    }

    fn add(&mut self, node: impl svg::Node) {
        svg::Node::append(&mut self.document, Box::new(node) as Box<dyn svg::Node>);
    }

    /// A box with round corners.
    pub(super) fn rectangle(&mut self, at: (i32, i32), size: (i32, i32), class: &str) {
        self.add(
            Rectangle::new()
                .set("class", format!("box {class}"))
                .set("x", at.0)
                .set("y", at.1)
                .set("width", size.0)
                .set("height", size.1)
                .set("rx", 6),
        );
    }

    /// A line of text; `y` is its base line.
    pub(super) fn text(&mut self, at: (i32, i32), class: &str, text: impl Into<String>) {
        self.add(
            Text::new(text)
                .set("x", at.0)
                .set("y", at.1)
                .set("class", class),
        );
    }

    /// A box with lines of text in its middle.
    pub(super) fn labelled(
        &mut self,
        at: (i32, i32),
        size: (i32, i32),
        class: &str,
        lines: &[(&str, &str)],
    ) {
        const LEADING: i32 = 19;
        self.rectangle(at, size, class);
        let count = i32::try_from(lines.len()).unwrap_or(1);
        let mut y = at.1 + (size.1 - count * LEADING) / 2 + 14;
        for (class, text) in lines {
            self.text((at.0 + size.0 / 2, y), &format!("middle {class}"), *text);
            y += LEADING;
        }
    }

    /// An arrow through points.
    pub(super) fn arrow(&mut self, points: &[(i32, i32)], is_danger: bool) {
        let mut data = svg::node::element::path::Data::new();
        for (index, &point) in points.iter().enumerate() {
            data = if index == 0 {
                data.move_to(point)
            } else {
                data.line_to(point)
            };
        }
        let (class, marker) = if is_danger {
            ("arrow danger dashed", "url(#danger)")
        } else {
            ("arrow", "url(#head)")
        };
        self.add(
            Path::new()
                .set("class", class)
                .set("d", data)
                .set("marker-end", marker),
        );
    }

    /// The sign of the policy: a shield with a number, its middle at a point.
    pub(super) fn shield(&mut self, at: (i32, i32), number: &str) {
        let (x, y) = at;
        let points = format!(
            "{},{} {},{} {},{} {},{} {},{}",
            x - 15,
            y - 17,
            x + 15,
            y - 17,
            x + 15,
            y + 5,
            x,
            y + 18,
            x - 15,
            y + 5,
        );
        self.add(
            Group::new()
                .add(
                    Polygon::new()
                        .set("class", "box green")
                        .set("points", points),
                )
                .add(
                    Text::new(number)
                        .set("class", "middle strong green")
                        .set("x", x)
                        .set("y", y + 3),
                ),
        );
    }

    /// The file.
    pub(super) fn finish(self) -> String {
        format!("{}\n", self.document)
    }
}

/// The head of an arrow.
fn head(id: &str, class: &str) -> Marker {
    Marker::new()
        .set("id", id)
        .set("viewBox", (0, 0, 10, 10))
        .set("refX", 9)
        .set("refY", 5)
        .set("markerWidth", 8)
        .set("markerHeight", 8)
        .set("orient", "auto-start-reverse")
        .add(
            Path::new()
                .set("class", class)
                .set("d", "M 0 0 L 10 5 L 0 10 z"),
        )
}
