//! A drawing as PDF 1.7, with the font inside and text that can be searched.

use super::GENERATOR;
use super::drawing::{Anchor, Colour, Drawing, Item, Point, Stroke};
use super::font::Font;
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;

/// Of zlib.
const COMPRESSION: u8 = 6;
const SYSTEM: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
const FONT_NAME: Name<'static> = Name(b"F1");

/// The file.
pub(super) fn pdf(drawing: &Drawing<'_>) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let [catalog, pages, page, content, font] = [1, 2, 3, 4, 5].map(Ref::new);
    pdf.document_info(Ref::new(10)).producer(TextStr(GENERATOR));
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let area = Rect::new(0.0, 0.0, drawing.width as f32, drawing.height as f32);
    let mut about = pdf.page(page);
    about.media_box(area).parent(pages).contents(content);
    about.resources().fonts().pair(FONT_NAME, font);
    about.finish();
    let (stream, used) = stream(drawing);
    pdf.stream(content, &compress_to_vec_zlib(&stream, COMPRESSION)).filter(Filter::FlateDecode);
    write_font(&mut pdf, font, drawing.font, &used);
    pdf.finish()
}

/// The commands, and the character of each glyph used.
fn stream(drawing: &Drawing<'_>) -> (Vec<u8>, BTreeMap<u16, char>) {
    let mut content = Content::new();
    let mut used = BTreeMap::new();
    // From the upper left corner downwards, as the drawing.
    let at = |(x, y): Point| (x as f32, (drawing.height - y) as f32);
    content.set_line_join(LineJoinStyle::RoundJoin);
    for item in &drawing.items {
        match item {
            Item::Path { points, closed, stroke, fill } => {
                for (index, point) in points.iter().enumerate() {
                    let (x, y) = at(*point);
                    if index == 0 {
                        content.move_to(x, y)
                    } else {
                        content.line_to(x, y)
                    };
                }
                if *closed {
                    content.close_path();
                }
                painted(&mut content, stroke.as_ref(), *fill);
            }
            Item::Text { at: point, size, anchor, turned, colour, text } => {
                let width = drawing.font.width(text) * size;
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => width / 2.0,
                    Anchor::End => width,
                } as f32;
                let (x, y) = at(*point);
                let matrix = if *turned {
                    [0.0, 1.0, -1.0, 0.0, x, y - back]
                } else {
                    [1.0, 0.0, 0.0, 1.0, x - back, y]
                };
                let mut glyphs = Vec::new();
                for c in text.chars() {
                    let (glyph, _) = drawing.font.glyph(c);
                    used.entry(glyph).or_insert(c);
                    glyphs.extend(glyph.to_be_bytes());
                }
                let [red, green, blue] = parts(*colour);
                content.set_fill_rgb(red, green, blue);
                content.begin_text().set_font(FONT_NAME, *size as f32);
                content.set_text_matrix(matrix).show(Str(&glyphs));
                content.end_text();
            }
        }
    }
    (content.finish().to_vec(), used)
}

fn painted(content: &mut Content, stroke: Option<&Stroke>, fill: Option<Colour>) {
    if let Some(colour) = fill {
        let [red, green, blue] = parts(colour);
        content.set_fill_rgb(red, green, blue);
    }
    if let Some(Stroke { colour, width, dash }) = stroke {
        let [red, green, blue] = parts(*colour);
        content.set_stroke_rgb(red, green, blue).set_line_width(*width as f32);
        content.set_dash_pattern(dash.iter().map(|length| *length as f32), 0.0);
    }
    match (stroke.is_some(), fill.is_some()) {
        (true, true) => content.fill_nonzero_and_stroke(),
        (true, false) => content.stroke(),
        (false, true) => content.fill_nonzero(),
        (false, false) => content.end_path(),
    };
}

fn parts(Colour(red, green, blue): Colour) -> [f32; 3] {
    [red, green, blue].map(|part| f32::from(part) / 255.0)
}

/// The font as a composite one whose codes are glyph numbers (ISO 32000-1 s9.7).
fn write_font(pdf: &mut Pdf, font: Ref, about: &Font, used: &BTreeMap<u16, char>) {
    let [descendant, descriptor, file, unicode] = [6, 7, 8, 9].map(Ref::new);
    let base: String = about.family.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    let base = Name(base.as_bytes());
    pdf.type0_font(font)
        .base_font(base)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(descendant)
        .to_unicode(unicode);
    let metrics = about.metrics;
    let kind = if metrics.is_cff { CidFontType::Type0 } else { CidFontType::Type2 };
    let mut cid = pdf.cid_font(descendant);
    cid.subtype(kind).base_font(base).system_info(SYSTEM).font_descriptor(descriptor);
    cid.default_width(600.0);
    if !metrics.is_cff {
        cid.cid_to_gid_map_predefined(Name(b"Identity"));
    }
    let mut widths = cid.widths();
    for (glyph, c) in used {
        widths.consecutive(*glyph, [(about.glyph(*c).1 * 1000.0) as f32]);
    }
    widths.finish();
    cid.finish();
    let thousandths = |share: f64| (share * 1000.0) as f32;
    let [left, bottom, right, top] = metrics.bounds.map(thousandths);
    let mut about_font = pdf.font_descriptor(descriptor);
    about_font
        .name(base)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(left, bottom, right, top))
        .italic_angle(0.0)
        .ascent(thousandths(metrics.ascent))
        .descent(thousandths(metrics.descent))
        .cap_height(thousandths(metrics.cap_height))
        .stem_v(80.0);
    if metrics.is_cff {
        about_font.font_file3(file)
    } else {
        about_font.font_file2(file)
    };
    about_font.finish();
    let compressed = compress_to_vec_zlib(&about.data, COMPRESSION);
    let mut stream = pdf.stream(file, &compressed);
    stream.filter(Filter::FlateDecode);
    if metrics.is_cff {
        stream.pair(Name(b"Subtype"), Name(b"OpenType"));
    } else {
        stream.pair(Name(b"Length1"), i32::try_from(about.data.len()).unwrap_or(i32::MAX));
    }
    stream.finish();
    let mut map = UnicodeCmap::new(Name(b"Custom"), SYSTEM);
    for (glyph, c) in used {
        map.pair(*glyph, *c);
    }
    pdf.cmap(unicode, &map.finish());
}
