//! What the pictures share: colours for dark and light, boxes, texts, and a text alternative.

/// Colours of light and dark. Every picture has a background of its own, so that it reads on any page.
const STYLE: &str = include_str!("style.css");

/// A picture in the making. Coordinates are pixels from the top left.
pub(super) struct Canvas(String);

impl Canvas {
    /// A picture of that size, with what it says for those who do not see it.
    pub(super) fn new(width: i32, height: i32, title: &str, description: &str) -> Self {
        let (title, description) = (escaped(title), escaped(description));
        Self(format!(
            r#"<svg aria-labelledby="title description" height="{height}" role="img" viewBox="0 0 {width} {height}" width="{width}" xmlns="http://www.w3.org/2000/svg">
<title id="title">{title}</title>
<desc id="description">{description}</desc>
<style>
{STYLE}</style>
<rect class="ground" height="{height}" rx="8" width="{width}"/>
"#
        ))
    }

    /// A box with round corners.
    pub(super) fn rectangle(&mut self, at: (i32, i32), size: (i32, i32), class: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.add(&format!(
            r#"<rect class="box {class}" height="{height}" rx="6" width="{width}" x="{x}" y="{y}"/>"#
        ));
    }

    /// A line of text; `y` is its base line.
    pub(super) fn text(&mut self, at: (i32, i32), class: &str, text: &str) {
        let ((x, y), text) = (at, escaped(text));
        self.add(&format!(
            r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#
        ));
    }

    /// A box with a small word in its middle.
    pub(super) fn labelled(&mut self, at: (i32, i32), size: (i32, i32), class: &str, word: &str) {
        self.rectangle(at, size, class);
        let y = at.1 + (size.1 - 19) / 2 + 14;
        self.text((at.0 + size.0 / 2, y), "middle small", word);
    }

    fn add(&mut self, element: &str) {
        self.0.extend([element, "\n"]);
    }

    /// The file.
    pub(super) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
