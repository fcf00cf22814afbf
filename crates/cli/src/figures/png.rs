//! A drawing as PNG, with text as outlines.

use super::GENERATOR;
use super::drawing::{Anchor, Colour, Drawing, Item, Point, Stroke};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Pixels per inch, as journals ask for.
const RESOLUTION: f64 = 300.0;
/// Largest number of pixels in a direction.
const MOST_PIXELS: f64 = 20_000.0;

/// The file; `None` if it is too large.
pub(super) fn png(drawing: &Drawing<'_>) -> Option<Vec<u8>> {
    let scale = RESOLUTION / 72.0;
    let (width, height) = (drawing.width * scale, drawing.height * scale);
    if width > MOST_PIXELS || height > MOST_PIXELS {
        return None;
    }
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)?;
    pixels.fill(Color::WHITE);
    let face = drawing.font.face()?;
    let transform = Transform::from_scale(scale as f32, scale as f32);
    for item in &drawing.items {
        match item {
            Item::Path { points, closed, stroke, fill } => {
                let Some(path) = path(points, *closed) else { continue };
                if let Some(colour) = fill {
                    pixels.fill_path(&path, &paint(*colour), FillRule::Winding, transform, None);
                }
                if let Some(stroke) = stroke {
                    pixels.stroke_path(
                        &path,
                        &paint(stroke.colour),
                        &stroked(stroke),
                        transform,
                        None,
                    );
                }
            }
            Item::Text { at, size, anchor, turned, colour, text } => {
                let placed = Placed { at: *at, size: *size, anchor: *anchor, turned: *turned };
                if let Some(path) = outlines(drawing, &face, &placed, text) {
                    pixels.fill_path(&path, &paint(*colour), FillRule::Winding, transform, None);
                }
            }
        }
    }
    encoded(&pixels).ok()
}

/// The file, whose resolution and origin are in chunks of their own (PNG s11.3).
fn encoded(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let per_metre = (RESOLUTION / 0.0254).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit }));
    encoder.add_text_chunk("Software".to_owned(), GENERATOR.to_owned())?;
    let mut writer = encoder.write_header()?;
    // Every pixel is opaque.
    let rgb: Vec<u8> =
        pixels.pixels().iter().flat_map(|one| [one.red(), one.green(), one.blue()]).collect();
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(file)
}

fn paint(Colour(red, green, blue): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint.anti_alias = true;
    paint
}

fn stroked(stroke: &Stroke) -> tiny_skia::Stroke {
    let dash: Vec<f32> = stroke.dash.iter().map(|length| *length as f32).collect();
    tiny_skia::Stroke {
        width: stroke.width as f32,
        line_join: LineJoin::Round,
        dash: StrokeDash::new(dash, 0.0),
        ..tiny_skia::Stroke::default()
    }
}

fn path(points: &[Point], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// Where a text is.
struct Placed {
    at: Point,
    size: f64,
    anchor: Anchor,
    turned: bool,
}

/// The outlines of a text.
fn outlines(drawing: &Drawing<'_>, face: &Face<'_>, placed: &Placed, text: &str) -> Option<Path> {
    let width = drawing.font.width(text) * placed.size;
    let mut along = match placed.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let unit = placed.size / f64::from(face.units_per_em());
    let mut path = PathBuilder::new();
    for c in text.chars() {
        let (glyph, advance) = drawing.font.glyph(c);
        let mut outline = Outline { path: &mut path, placed, along, unit };
        face.outline_glyph(GlyphId(glyph), &mut outline);
        along += advance * placed.size;
    }
    path.finish()
}

/// Places the outline of a glyph.
struct Outline<'a> {
    path: &'a mut PathBuilder,
    placed: &'a Placed,
    along: f64,
    unit: f64,
}

impl Outline<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, up) = (self.along + f64::from(x) * self.unit, f64::from(y) * self.unit);
        let (left, top) = self.placed.at;
        let (x, y) =
            if self.placed.turned { (left - up, top - along) } else { (left + along, top - up) };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Outline<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
