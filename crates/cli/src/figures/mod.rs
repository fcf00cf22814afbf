//! Figures for papers: SVG, PDF and PNG files of a size and with a font that the user chooses,
//! without a browser.
//!
//! `data` has what they show, `plots` and, for the papers of `reproduce`, `paper` and `grid` make
//! drawings of it in `frame` with `axis`, and `svg`, `pdf` and `png` write a drawing with a `font`.
//! The interactive figures of the page are in `report`.

mod axis;
mod data;
mod drawing;
mod font;
mod frame;
mod grid;
mod paper;
mod pdf;
mod plots;
mod png;
mod svg;

pub(crate) use data::Shown;

use crate::report::Plotted;
use drawing::Drawing;
use font::Font;
use plots::Layout;

/// The mark of files that this program wrote.
const GENERATOR: &str = concat!("anabranch ", env!("CARGO_PKG_VERSION"));

/// A format of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Scalable Vector Graphics
    Svg,
    /// Portable Document Format
    Pdf,
    /// Pixels, 300 per inch
    Png,
}

impl Format {
    const fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Pdf => "pdf",
            Format::Png => "png",
        }
    }
}

/// Size and text of figures.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Style {
    /// Width, and height unless it follows from the content, in points.
    pub size: (f64, Option<f64>),
    pub font_size: f64,
    /// `None`: the built-in one.
    pub font: Option<String>,
}

/// A file: its name and content.
pub(crate) type NamedFile = (String, Vec<u8>);

/// The files of a paper's figure, `name.svg` and so on, as wide as a page.
pub(crate) fn of_paper(
    name: &str,
    plotted: &Plotted<'_>,
    formats: &[Format],
) -> Result<Vec<NamedFile>, String> {
    let font = Font::find(None)?;
    let layout = Layout { width: 504.0, height: None, size: 8.0, font: &font };
    let drawing = paper::figure(plotted, &layout);
    let file = |format: &Format| {
        Ok((format!("{name}.{}", format.extension()), encoded(&drawing, *format)?))
    };
    formats.iter().map(file).collect()
}

/// The files of all figures with data, in these formats.
pub(crate) fn files(
    shown: &Shown,
    style: &Style,
    formats: &[Format],
) -> Result<Vec<NamedFile>, String> {
    let font = Font::find(style.font.as_deref())?;
    let (width, height) = style.size;
    let layout = Layout { width, height, size: style.font_size, font: &font };
    let mut files = Vec::new();
    for (name, drawing) in plots::figures(shown, &layout) {
        for format in formats {
            let content = encoded(&drawing, *format)?;
            files.push((format!("{name}.{}", format.extension()), content));
        }
    }
    Ok(files)
}

fn encoded(drawing: &Drawing<'_>, format: Format) -> Result<Vec<u8>, String> {
    Ok(match format {
        Format::Svg => svg::svg(drawing).into_bytes(),
        Format::Pdf => pdf::pdf(drawing),
        Format::Png => png::png(drawing).ok_or(
            "--size: the figure is too large for a PNG file\n  help: at 300 pixels per inch a side \
             has at most 66in",
        )?,
    })
}

/// Width and height of `3.3in`, `84mm` or `7inx3in`, in points; without a height it follows from
/// the content.
pub(crate) fn parse_size(text: &str) -> Result<(f64, Option<f64>), String> {
    // The units are `in`, `mm`, `cm` and `pt`: none has an `x`.
    match text.split_once('x') {
        None => Ok((parse_length(text)?, None)),
        Some((width, height)) => Ok((parse_length(width)?, Some(parse_length(height)?))),
    }
}

/// Points per unit.
const UNITS: [(&str, f64); 4] =
    [("in", 72.0), ("mm", 72.0 / 25.4), ("cm", 72.0 / 2.54), ("pt", 1.0)];
/// Smallest and largest side of a figure, in points.
const SIDES: (f64, f64) = (72.0, 7200.0);

fn parse_length(text: &str) -> Result<f64, String> {
    let write = "write a width such as 3.3in or 84mm, or a width and a height such as 7inx3in";
    let found = UNITS.iter().find_map(|(unit, points)| {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * points)
    });
    match found {
        Some(length) if (SIDES.0..=SIDES.1).contains(&length) => Ok(length),
        Some(_) => Err("a side has 1in to 100in".to_owned()),
        None => Err(write.to_owned()),
    }
}

/// Size of text in points, `8` or `8pt`.
pub(crate) fn parse_font_size(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("pt").unwrap_or(text).trim().parse().ok();
    number
        .filter(|size| (3.0..=40.0).contains(size))
        .ok_or_else(|| "write 3 to 40 points, such as 8pt".to_owned())
}

#[cfg(test)]
mod tests;
