//! The best of several rounds of the figures that take CPU time.
//!
//! Other work on the machine, that of other guests included, only ever makes a figure worse, and
//! comes and goes within seconds. So the figures are taken in turn, several times, and the best of
//! each is printed: ratios of them are of the undisturbed machine.

/// How often each figure is taken.
pub(crate) const ROUNDS: usize = 7;

/// The lines of one figure, the best of all rounds so far.
#[derive(Debug, Default)]
pub(crate) struct Best(Vec<[String; 3]>);

impl Best {
    /// Adds what a process printed: lines of name, value and unit.
    pub(crate) fn add(&mut self, printed: &str) {
        for line in printed.lines() {
            let mut words = line.splitn(3, ' ').map(str::to_owned);
            let mut next = || words.next().unwrap_or_default();
            let taken = [next(), next(), next()];
            match self.0.iter_mut().find(|known| known[0] == taken[0]) {
                Some(known) if is_better(&taken, known) => *known = taken,
                Some(_) => {}
                None => self.0.push(taken),
            }
        }
    }

    /// Prints them.
    pub(crate) fn print(&self) {
        self.0.iter().for_each(|words| println!("{}", words.join(" ")));
    }
}

/// More per CPU second, or less of anything else.
fn is_better([_, value, unit]: &[String; 3], [_, known, _]: &[String; 3]) -> bool {
    let numbers = value.parse::<f64>().ok().zip(known.parse::<f64>().ok());
    numbers.is_some_and(|(a, b)| if unit.ends_with("/cpu_s") { a > b } else { a < b })
}
