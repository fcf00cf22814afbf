//! A set that a rule makes: scenarios drawn from all combinations of the values of some axes.
//!
//! ```toml
//! [draw]
//! cells = 80                      # scenarios
//! seed = 1                        # another seed is another draw
//! least = 8                       # scenarios with each value of each axis, at least
//!
//! [[axis]]
//! name = "traffic"
//! [[axis.value]]
//! name = "4MiB"
//! traffic = "bulk:4MiB"           # keys of a scenario file
//! ```
//!
//! A cell has the names of its values, in the order of the axes. The draw takes the cells whose
//! random numbers, keyed by seed and name, are the lowest; a draw with too few of a value is made
//! again with further numbers. So the set depends on nothing that anyone knows of the results.
//!
//! A file with `grid = "other.toml"` has the axes of that file, and none of the cells drawn there.

use super::set::tables;
use crate::error::{Given, InputError, SourceFile, in_file_error};
use crate::scenario::{Options, split};
use base::chance::owner_of;
use base::{Chance, Purpose};
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most combinations of a set.
const MOST_CELLS: usize = 100_000;
/// Draws that are made to find one with enough of each value.
const ATTEMPTS: u64 = 10_000;

/// A scenario of the set before it is resolved.
pub(super) struct Cell {
    pub name: Given,
    pub options: Options,
}

struct Axis {
    name: Given,
    values: Vec<Value>,
}

struct Value {
    name: Given,
    options: Options,
}

/// Numbers of `[draw]`.
struct Draw {
    cells: usize,
    seed: u64,
    least: usize,
}

/// All combinations of the values of some axes; a cell has its place in their order.
pub(super) struct Grid {
    axes: Vec<Axis>,
    count: usize,
}

impl Grid {
    /// The combinations of the tables `[[axis]]`.
    pub(super) fn new(
        file: &Arc<SourceFile>,
        axes: &Spanned<DeValue<'_>>,
    ) -> Result<Grid, InputError> {
        let axes = tables(file, axes, "axis")?;
        let axes =
            axes.into_iter().map(|table| axis(file, table)).collect::<Result<Vec<_>, _>>()?;
        let count = axes.iter().try_fold(1, |all: usize, axis| all.checked_mul(axis.values.len()));
        let Some(count) = count.filter(|count| *count <= MOST_CELLS) else {
            let problem = format!("the axes have more than {MOST_CELLS} combinations");
            return Err(InputError::at(&file.name, problem, "name fewer values"));
        };
        Ok(Grid { axes, count })
    }

    /// Places of all cells but these, ascending.
    pub(super) fn all_but(&self, drawn: &[usize]) -> Vec<usize> {
        (0..self.count).filter(|cell| drawn.binary_search(cell).is_err()).collect()
    }

    /// Places of the cells of the draw out of `from`, ascending; without `[draw]`, all.
    pub(super) fn drawn(
        &self,
        file: &Arc<SourceFile>,
        draw: Option<&Spanned<DeValue<'_>>>,
        from: Vec<usize>,
    ) -> Result<Vec<usize>, InputError> {
        match draw {
            Some(draw) => chosen(file, draw, &self.axes, &from),
            None => Ok(from),
        }
    }

    /// The scenario at this place.
    pub(super) fn cell(&self, place: usize) -> Cell {
        combined(&self.axes, place)
    }
}

fn axis(file: &Arc<SourceFile>, table: &DeTable<'_>) -> Result<Axis, InputError> {
    let mut table = table.clone();
    let values = table.remove("value");
    let name = named(file, &table, "an axis")?.0;
    let Some(values) = values else {
        let problem = format!("the axis `{}` has no value", name.text);
        return Err(name.refuse_whole(problem, "write a table `[[axis.value]]` for each"));
    };
    let values = tables(file, &values, "value")?.into_iter().map(|table| {
        let (name, options) = named(file, table, "a value of an axis")?;
        Ok(Value { name, options })
    });
    let values = values.collect::<Result<Vec<_>, InputError>>()?;
    let mut known = BTreeSet::new();
    if let Some(twice) = values.iter().find(|value| !known.insert(&value.name.text)) {
        let problem = format!("the axis `{}` has the value `{}` twice", name.text, twice.name.text);
        return Err(twice.name.refuse_whole(problem, "rename one of them"));
    }
    Ok(Axis { name, values })
}

/// The name of a table, and its keys of a scenario.
fn named(
    file: &Arc<SourceFile>,
    table: &DeTable<'_>,
    what: &str,
) -> Result<(Given, Options), InputError> {
    let (options, own) = split(file, table, &["name"])?;
    let name = own.into_iter().next().flatten().ok_or_else(|| {
        InputError::at(&file.name, format!("{what} has no name"), "write `name = \"...\"` in it")
    })?;
    Ok((name, options))
}

/// Places of the cells of a draw out of `from`, ascending.
fn chosen(
    file: &Arc<SourceFile>,
    draw: &Spanned<DeValue<'_>>,
    axes: &[Axis],
    from: &[usize],
) -> Result<Vec<usize>, InputError> {
    let Draw { cells, seed, least } = numbers(file, draw)?;
    let refuse =
        |problem, help: &str| Err(in_file_error(file, draw.span(), problem, help.to_owned()));
    if cells > from.len() {
        let problem = format!("{cells} cells cannot be drawn from {} combinations", from.len());
        return refuse(problem, "draw fewer, or leave `[draw]` out for all of them");
    }
    let owner = |cell: &usize| (owner_of(&combined(axes, *cell).name.text), *cell);
    let from: Vec<_> = from.iter().map(owner).collect();
    for attempt in 0..ATTEMPTS {
        let chance = Chance::new(seed, attempt);
        let mut order = from.clone();
        order.sort_by_key(|(owner, cell)| (chance.bits(*owner, Purpose::Cell, 0), *cell));
        order.truncate(cells);
        let mut order: Vec<usize> = order.into_iter().map(|(_, cell)| cell).collect();
        order.sort_unstable();
        if has_each(axes, &order, least) {
            return Ok(order);
        }
    }
    let problem = format!("no draw of {cells} cells has {least} of each value");
    refuse(problem, "draw more cells, or ask for fewer of each value: `least = 1`")
}

/// Whether each value of each axis is in `least` of these cells.
fn has_each(axes: &[Axis], cells: &[usize], least: usize) -> bool {
    axes.iter().enumerate().all(|(place, axis)| {
        let mut counts = vec![0; axis.values.len()];
        cells.iter().for_each(|cell| counts[places(axes, *cell)[place]] += 1);
        counts.into_iter().all(|count| count >= least)
    })
}

/// The place of the value of each axis.
fn places(axes: &[Axis], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut places: Vec<usize> = axes
        .iter()
        .rev()
        .map(|axis| {
            let place = rest % axis.values.len();
            rest /= axis.values.len();
            place
        })
        .collect();
    places.reverse();
    places
}

fn combined(axes: &[Axis], cell: usize) -> Cell {
    let values: Vec<&Value> =
        axes.iter().zip(places(axes, cell)).map(|(axis, place)| &axis.values[place]).collect();
    let name = values.iter().map(|value| value.name.text.as_str()).collect::<Vec<_>>().join("-");
    let options =
        values.iter().fold(Options::default(), |all, value| value.options.clone().or(all));
    let name = match axes.last() {
        Some(axis) => axis.name.with_text(&name),
        None => Given::argument("axis", &name),
    };
    Cell { name, options }
}

fn numbers(file: &Arc<SourceFile>, draw: &Spanned<DeValue<'_>>) -> Result<Draw, InputError> {
    let refuse = |span, problem| {
        let help = "write `cells = 80`, `seed = 1` and `least = 8`".to_owned();
        in_file_error(file, span, problem, help)
    };
    let Some(table) = draw.get_ref().as_table() else {
        return Err(refuse(draw.span(), "`draw` is not a table".to_owned()));
    };
    let (mut cells, mut seed, mut least) = (None, 1, 0);
    for (key, value) in table {
        let number = value.get_ref().as_integer();
        let number =
            number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let number = number.ok_or_else(|| {
            refuse(value.span(), format!("`{}` is not a whole number", key.get_ref()))
        })?;
        match key.get_ref().as_ref() {
            "cells" => cells = Some(number),
            "seed" => seed = number,
            "least" => least = number,
            other => return Err(refuse(key.span(), format!("unknown key `{other}`"))),
        }
    }
    let cells = cells.ok_or_else(|| refuse(draw.span(), "it has no number of cells".to_owned()))?;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Draw { cells: size(cells), seed, least: size(least) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{load, table_of};
    use crate::validation::ValidationSet;
    use std::collections::BTreeMap;

    fn shipped(name: &str) -> String {
        format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    /// The axes of the shipped grid, and its places by name.
    fn shipped_grid() -> (Grid, BTreeMap<String, usize>) {
        let file = load(&shipped("kernel-grid.toml")).unwrap();
        let document = table_of(&file).unwrap();
        let grid = Grid::new(&file, document.get_ref().get("axis").unwrap()).unwrap();
        let places = grid.all_but(&[]).into_iter().map(|cell| (grid.cell(cell).name.text, cell));
        let places = places.collect();
        (grid, places)
    }

    fn drawn(name: &str) -> Vec<usize> {
        let places = shipped_grid().1;
        let set = ValidationSet::from_file(&shipped(name), None).unwrap();
        set.entries.iter().map(|entry| places[&entry.name]).collect()
    }

    #[test]
    fn shipped_draws_have_enough_of_each_value_and_share_no_cell() {
        let (grid, names) = shipped_grid();
        assert_eq!((grid.count, names.len()), (672, 672), "names are unique");
        let [seen, unseen] = ["kernel-grid.toml", "kernel-grid-unseen.toml"].map(drawn);
        assert_eq!((seen.len(), unseen.len()), (80, 40));
        assert!(has_each(&grid.axes, &seen, 8) && has_each(&grid.axes, &unseen, 4));
        assert!(unseen.iter().all(|cell| !seen.contains(cell)), "{seen:?} {unseen:?}");
    }

    #[test]
    fn all_combinations_of_the_shipped_axes_are_scenarios() {
        let file = load(&shipped("kernel-grid.toml")).unwrap();
        let text = file.text.replace("[draw]\ncells = 80\nseed = 1\nleast = 8\n", "");
        let file = Arc::new(SourceFile { name: file.name.clone(), text });
        let set = ValidationSet::read(&file, &Options::default()).unwrap();
        assert_eq!(set.entries.len(), 672);
        for entry in &set.entries {
            let names: Vec<_> = entry.variants().into_iter().map(|variant| variant.name).collect();
            for stack in ["kernel-tcp/", "kernel-mptcp/"] {
                assert!(names.iter().any(|name| name.starts_with(stack)), "{names:?}");
            }
        }
    }
}
