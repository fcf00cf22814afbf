//! The page that `validate --write` makes: conditions of the measurement, one table, one figure.
//!
//! Explanations of differences are written by hand below a mark, and are kept when the page is
//! written again.

use super::{
    TARGETS, has_modes, modes, plain_percent, recorded_side, signed_percent, spread, summary,
};
use crate::by_hand::is_generated;
use crate::save::{FilePlace, Overwrite};
use lab::InputError;
use lab::Scale;
use lab::validation::{Apart, Row, Series, Validation, ValidationSet};
use plotters::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// Width and height of the figure, in pixels.
const SIDE: u32 = 640;

/// Places of the page and of its figure.
pub(super) struct Places {
    page: FilePlace,
    figure: FilePlace,
    /// Name of the figure in the page.
    name: String,
}

impl Places {
    /// The places for `--write FILE`, unless they have files of somebody else.
    pub(super) fn new(file: &Path, force: bool) -> Result<Places, InputError> {
        let figure = file.with_extension("svg");
        if figure == file {
            let problem = format!("`{}` would be the name of the figure, too", file.display());
            return Err(InputError::at("--write", problem, "name a Markdown file: `page.md`"));
        }
        let page = Overwrite { force }.document(file)?;
        // The figure of a generated page belongs to it.
        let figure_of_a_page = Overwrite { force: force || is_generated(file) };
        let name =
            figure.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Ok(Places { page, figure: figure_of_a_page.place("--write", &figure)?, name })
    }

    /// Writes the page, and its figure beside it.
    pub(super) fn write(
        &self,
        set_name: &str,
        set: &ValidationSet,
        series: &Series,
        result: &Validation,
    ) -> Result<(), String> {
        let figure =
            scatter(&result.rows, recorded_side(result)).map_err(|error| error.to_string())?;
        self.figure.write(&figure)?;
        self.page.write_document(&page(set_name, set, series, result, &self.name))
    }
}

fn page(
    set_name: &str,
    set: &ValidationSet,
    series: &Series,
    result: &Validation,
    figure: &str,
) -> String {
    let (machine, side) = (&series.machine, recorded_side(result));
    let mut text = format!(
        "# {}\n\n**{}.** Targets: median at most {}, worst at most {}.\n\n",
        set.title.as_deref().unwrap_or("How far the simulator is from the kernel"),
        summary(result),
        plain_percent(TARGETS.0),
        plain_percent(TARGETS.1),
    );
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "| | |\n| --- | --- |\n| kernel | {} |\n| machine | {} |\n| recorded | {} |\n\
         | recorded by | `{}` ({}) |\n\
         | page written by | `anabranch validate {set_name} --write ...`, anabranch {} |\n",
        machine.kernel,
        machine.hardware,
        machine.recorded,
        machine.command,
        machine.version,
        env!("CARGO_PKG_VERSION"),
    );
    for line in &machine.emulator {
        let _ = writeln!(text, "| emulator errors | {line} |");
    }
    let settings = machine.settings.iter().map(|(name, value)| format!("`{name}` {value}"));
    let settings: Vec<String> = settings.collect();
    if !settings.is_empty() {
        let _ = writeln!(text, "| settings | {} |", settings.join(", "));
    }
    let _ = write!(
        text,
        "\nA scenario counts if the half-width of the {side}'s own 95 % interval is at most 4 % \
         of its mean.\nThe difference is the simulator's mean over the {side}'s, minus one; the \
         excess is the part of it outside\nthe joint 95 % interval.\n\n\
         ![{} against simulator]({figure})\n\n",
        if side == "kernel" { "Kernel" } else { side },
    );
    if !result.rows.is_empty() {
        text.push_str(&table(&result.rows, side));
    }
    text.push_str(&quantiles(result));
    text.push_str(&spread::section(result));
    for reason in spread::left_out(result) {
        let _ = writeln!(text, "\nLeft out: {reason}.");
    }
    text
}

fn table(rows: &[Row], side: &str) -> String {
    let mut text = format!(
        "| scenario | variant | metric | {side} | +- | n | ours | difference | excess | counted |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
    );
    for row in rows {
        let scale = Scale::of(&row.subject.unit, row.kernel.mean);
        let half = row.kernel.interval.map_or(0.0, |interval| interval.half_width());
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.subject.scenario,
            row.subject.variant,
            row.subject.metric,
            scale.value(row.kernel.mean),
            plain_percent(half / row.kernel.mean),
            row.kernel.n,
            scale.value(row.ours.mean),
            signed_percent(row.diff),
            plain_percent(row.excess),
            if row.counted { "yes" } else { "no" },
        );
    }
    text
}

fn quantiles(result: &Validation) -> String {
    if result.apart.is_empty() {
        return String::new();
    }
    let side = recorded_side(result);
    let mut text = format!(
        "\n## Compared by quantiles and modes\n\nWhere loss is random, and where the {side}'s runs \
         fall into several groups (modes, with their share of the runs) and\ntheir mean is not \
         known to 4 %. Not counted.\n\n| scenario | variant | runs ({side}/ours) | quantile | \
         {side} | ours | difference |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for apart in &result.apart {
        for quantile in &apart.quantiles {
            let scale = Scale::of(&apart.subject.unit, quantile.kernel);
            let _ = writeln!(
                text,
                "| {} | `{}` | {}/{} | {:.0} % | {} | {} | {} |",
                apart.subject.scenario,
                apart.subject.variant,
                apart.kernel_n,
                apart.ours_n,
                quantile.q * 100.0,
                scale.value(quantile.kernel),
                scale.value(quantile.ours),
                signed_percent(quantile.diff),
            );
        }
    }
    let several: Vec<&Apart> = result.apart.iter().filter(|apart| has_modes(apart)).collect();
    if several.is_empty() {
        return text;
    }
    let of = if side == "kernel" { "the kernel" } else { side };
    let head = "| --- | --- | --- | --- |";
    let _ = writeln!(text, "\n| scenario | variant | modes of {of} | ours |\n{head}");
    for Apart { subject, kernel_modes, our_modes, .. } in several {
        let [kernel, ours] = [kernel_modes, our_modes].map(|found| modes(found, &subject.unit));
        let (scenario, variant) = (&subject.scenario, &subject.variant);
        let _ = writeln!(text, "| {scenario} | `{variant}` | {kernel} | {ours} |");
    }
    text
}

/// Figure of all comparisons: the kernel's time on the x axis, the simulator's on the y axis.
fn scatter(rows: &[Row], side: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let mut svg = String::new();
    {
        let values = rows.iter().filter(|row| row.subject.unit == "s");
        let ends = values.clone().flat_map(|row| [row.kernel.mean, row.ours.mean]);
        let low = ends.clone().fold(f64::INFINITY, f64::min).clamp(1e-6, 1e6) / 1.5;
        let high = ends.fold(0.0, f64::max).clamp(1e-6, 1e6) * 1.5;
        let area = SVGBackend::with_string(&mut svg, (SIDE, SIDE)).into_drawing_area();
        area.fill(&WHITE).map_err(|e| e.to_string())?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d((low..high.max(low * 2.0)).log_scale(), (low..high).log_scale())
            .map_err(|e| e.to_string())?;
        chart
            .configure_mesh()
            .x_desc(format!("{side} (s)"))
            .y_desc("simulator (s)")
            .draw()
            .map_err(|e| e.to_string())?;
        let (median, worst) = (1.0 + TARGETS.0, 1.0 + TARGETS.1);
        for (factor, colour) in [
            (1.0, BLACK),
            (median, GREY),
            (1.0 / median, GREY),
            (worst, LIGHT),
            (1.0 / worst, LIGHT),
        ] {
            let line = [(low, low * factor), (high, high * factor)];
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(1)))
                .map_err(|e| e.to_string())?;
        }
        // Colours of Okabe and Ito, which colour-blind readers can distinguish.
        let kernel = [("kernel-tcp", TCP), ("kernel-mptcp", MPTCP)];
        let usrsctp = [("usrsctp", SCTP)];
        for &(stack, colour) in if side == "kernel" { &kernel[..] } else { &usrsctp } {
            let points = values.clone().filter(|row| row.subject.stack == stack).map(|row| {
                let at = (row.kernel.mean, row.ours.mean);
                let style = if row.counted { colour.filled() } else { colour.stroke_width(1) };
                Circle::new(at, 4, style)
            });
            chart
                .draw_series(points)
                .map_err(|e| e.to_string())?
                .label(stack)
                .legend(move |at| Circle::new(at, 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE)
            .border_style(GREY)
            .draw()
            .map_err(|e| e.to_string())?;
        area.present().map_err(|e| e.to_string())?;
    }
    Ok(svg)
}

const GREY: RGBColor = RGBColor(140, 140, 140);
const LIGHT: RGBColor = RGBColor(210, 210, 210);
const TCP: RGBColor = RGBColor(0, 114, 178);
const MPTCP: RGBColor = RGBColor(213, 94, 0);
const SCTP: RGBColor = RGBColor(0, 158, 115);
