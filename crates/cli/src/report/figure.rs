//! An interactive figure: data and layout for plotly.js, which the page includes.

use super::page::escaped;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::{Value, json};

/// The choice of a variant.
pub(super) const VARIANT: &str = "variant";

/// One figure of the page.
pub(super) struct Figure {
    /// Identifier in the page, of letters and digits.
    pub id: String,
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Height in CSS pixels, without the legend.
    pub height: u32,
    /// What the reader chooses; figures with the same choice show the same.
    pub choice: &'static str,
    /// Sets of plotly.js traces, of which the reader chooses one.
    pub sets: Vec<(String, Vec<Value>)>,
    pub layout: Value,
}

impl Figure {
    /// HTML of the figure; empty without data.
    pub(super) fn html(&self) -> String {
        let Some((_, first)) = self.sets.first() else { return String::new() };
        let Figure { id, height, .. } = self;
        let mut html = format!("<h3>{}</h3>\n", escaped(&self.title));
        if self.sets.len() > 1 {
            html.push_str(&self.choice());
        }
        html.push_str(&format!(
            "<div id=\"{id}\" class=\"figure\" data-height=\"{height}\" \
             style=\"height:{height}px\"></div>\n\
             <p class=\"small\">{}</p>\n",
            escaped(&self.caption)
        ));
        let sets: Vec<&Vec<Value>> = self.sets.iter().map(|(_, traces)| traces).collect();
        let sets = if self.sets.len() > 1 { json!(sets) } else { json!([first]) };
        html.push_str(&format!(
            "<script>figure({}, {}, {});</script>\n",
            script(&json!(id)),
            script(&sets),
            script(&self.layout)
        ));
        html
    }

    /// Selection of a set.
    fn choice(&self) -> String {
        let options = self.sets.iter().enumerate().map(|(index, (name, _))| {
            format!("<option value=\"{index}\">{}</option>", escaped(name))
        });
        format!(
            "<p><label>{0} <select id=\"{1}-choice\" data-choice=\"{0}\">{2}</select></label>\
             </p>\n",
            self.choice,
            self.id,
            options.collect::<String>()
        )
    }
}

/// JSON inside a script element: no text in it can end the element.
fn script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// plotly.js with the kinds of figures that have two axes (`assets/README.md`), compressed by
/// `build.rs`.
const PLOTLY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.zlib"));

/// Scripts of the page: plotly.js and the function that draws a figure.
pub(super) fn scripts() -> String {
    // It was compressed from this text, so it cannot be damaged.
    let plotly = decompress_to_vec_zlib(PLOTLY).unwrap_or_default();
    let plotly = String::from_utf8_lossy(&plotly);
    format!("<script>{plotly}</script>\n<script>{DRAW}</script>\n")
}

/// Draws a figure in the theme and for the width of the page, and unpacks its numbers.
const DRAW: &str = include_str!("figure.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_variant_cannot_end_the_script() {
        let figure = Figure {
            id: "f".to_owned(),
            title: "<b>".to_owned(),
            caption: String::new(),
            height: 100,
            choice: VARIANT,
            sets: vec![("one".to_owned(), vec![json!({"name": "</script><script>alert(1)"})])],
            layout: json!({}),
        };
        let html = figure.html();
        assert_eq!(html.matches("</script>").count(), 1, "{html}");
        assert!(html.contains("&lt;b&gt;"));
    }

    #[test]
    fn scripts_are_one_library_and_load_nothing() {
        let scripts = scripts();
        assert_eq!(scripts.matches("<script>").count(), 2);
        assert_eq!(scripts.matches("</script").count(), 2, "no text of the library ends it");
        assert!(!scripts.contains("<script src"));
        assert!(scripts.contains("plotly.js (cartesian"));
    }
}
