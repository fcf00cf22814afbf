//! The font of figures: the one that is built in, a file, or an installed one.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use ttf_parser::{Face, GlyphId, name_id};

/// Letters, digits and symbols of DejaVu Sans (data/LICENSES), so that figures look the same on
/// every machine.
const BUILT_IN: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Largest file of a font that is read.
const MOST_BYTES: u64 = 32 << 20;
/// Most files that are read to find a font by name.
const MOST_FILES: usize = 5_000;

/// A font with its file.
pub(super) struct Font {
    /// The family's name.
    pub family: String,
    pub data: Cow<'static, [u8]>,
    /// Number of glyph and width in units of the em, by character of the Basic Multilingual Plane.
    widths: Vec<(u16, f32)>,
    pub metrics: Metrics,
}

/// Measures of a font in shares of its size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Metrics {
    pub ascent: f64,
    pub descent: f64,
    pub cap_height: f64,
    pub bounds: [f64; 4],
    pub is_cff: bool,
}

impl Font {
    /// The font of `--font`: a file, or the family name of an installed font. Without it the one
    /// that is built in.
    pub(super) fn find(name: Option<&str>) -> Result<Font, String> {
        let Some(name) = name else {
            let parsed = Font::parse(Cow::Borrowed(BUILT_IN));
            return parsed.ok_or_else(|| "the built-in font is damaged".to_owned());
        };
        let help = "\n  help: name a TrueType or OpenType file, or the family of an installed \
                    font, such as \"DejaVu Sans\"";
        let path = Path::new(name);
        if path.extension().is_some_and(|end| end == "ttf" || end == "otf") || path.is_file() {
            let content = fs::read(path)
                .map_err(|error| format!("--font: cannot read `{name}`: {error}{help}"))?;
            let font = Font::parse(Cow::Owned(content));
            return font.ok_or_else(|| format!("--font: `{name}` is not a font{help}"));
        }
        installed(name).ok_or_else(|| format!("--font: no font `{name}` is installed{help}"))
    }

    fn parse(data: Cow<'static, [u8]>) -> Option<Font> {
        let face = Face::parse(&data, 0).ok()?;
        let em = f32::from(face.units_per_em());
        let glyph = |code: u32| {
            let id = char::from_u32(code).and_then(|c| face.glyph_index(c)).unwrap_or(GlyphId(0));
            (id.0, f32::from(face.glyph_hor_advance(id).unwrap_or(0)) / em)
        };
        let widths = (0..0x3000).map(glyph).collect();
        let share = |units: i16| f64::from(units) / f64::from(em);
        let bounds = face.global_bounding_box();
        let metrics = Metrics {
            ascent: share(face.ascender()),
            descent: share(face.descender()),
            cap_height: face.capital_height().map_or(0.7, share),
            bounds: [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(share),
            is_cff: face.tables().cff.is_some(),
        };
        let family = family(&face).unwrap_or_else(|| "sans-serif".to_owned());
        Some(Font { family, widths, metrics, data })
    }

    /// Whether the font is the one that is built in.
    pub(super) fn is_built_in(&self) -> bool {
        matches!(self.data, Cow::Borrowed(_))
    }

    /// The glyph of a character and its width.
    pub(super) fn glyph(&self, c: char) -> (u16, f64) {
        let found = self.widths.get(c as usize).or_else(|| self.widths.get('?' as usize));
        found.map_or((0, 0.5), |(id, width)| (*id, f64::from(*width)))
    }

    /// Width of a text in shares of the font's size.
    pub(super) fn width(&self, text: &str) -> f64 {
        text.chars().map(|c| self.glyph(c).1).sum()
    }

    /// The face, for outlines; it was parsed before.
    pub(super) fn face(&self) -> Option<Face<'_>> {
        Face::parse(&self.data, 0).ok()
    }
}

fn family(face: &Face<'_>) -> Option<String> {
    let names = || face.names().into_iter();
    let of = |id: u16| names().find(|name| name.name_id == id && name.is_unicode());
    of(name_id::TYPOGRAPHIC_FAMILY).or_else(|| of(name_id::FAMILY))?.to_string()
}

/// The regular style of an installed family.
fn installed(name: &str) -> Option<Font> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let of_user = [".fonts", ".local/share/fonts", "Library/Fonts"];
    let of_user = home.iter().flat_map(|home| of_user.iter().map(move |folder| home.join(folder)));
    let of_all =
        ["/usr/local/share/fonts", "/usr/share/fonts", "/usr/share/texmf", "/Library/Fonts"];
    let mut folders: Vec<PathBuf> = of_user.chain(of_all.iter().map(PathBuf::from)).collect();
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() && folders.len() < MOST_FILES {
                folders.push(path);
            } else if is_font(&path) && read < MOST_FILES {
                read += 1;
                if let Some(font) = fs::read(&path).ok().and_then(|data| regular(data, name)) {
                    return Some(font);
                }
            }
        }
    }
    None
}

fn is_font(path: &Path) -> bool {
    let is_one = path.extension().is_some_and(|end| end == "ttf" || end == "otf");
    is_one && path.metadata().is_ok_and(|data| data.len() <= MOST_BYTES)
}

fn regular(data: Vec<u8>, name: &str) -> Option<Font> {
    let face = Face::parse(&data, 0).ok()?;
    let fits = family(&face)?.eq_ignore_ascii_case(name)
        && !face.is_bold()
        && !face.is_italic()
        && face.is_regular();
    if fits { Font::parse(Cow::Owned(data)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_font_has_every_character_of_figures() {
        let font = Font::find(None).expect("the font");
        for c in "azAZ09 %/-_.,:()[]=+µ×−–≥≤…⁰¹²³⁴⁵⁶⁷⁸⁹⁻äé".chars()
        {
            let (glyph, width) = font.glyph(c);
            assert!(width > 0.1 && (glyph > 0), "{c}");
        }
        assert!((font.width("mm") - 2.0 * font.width("m")).abs() < 1e-9);
        assert!((0.6..0.8).contains(&font.metrics.cap_height));
    }

    #[test]
    fn unknown_fonts_are_refused_with_what_to_write() {
        for name in ["No Such Family", "no-such.ttf", "Cargo.toml"] {
            let refusal = Font::find(Some(name)).err().expect("a refusal");
            assert!(refusal.contains(name) && refusal.contains("help: name a"), "{refusal}");
        }
    }
}
