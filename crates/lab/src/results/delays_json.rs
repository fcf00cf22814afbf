//! The delays of a run in a line of the journal: one array for each field, times in nanoseconds.

use crate::delays::Delay;
use base::Duration;
use serde_json::{Value, json};

/// The delays as JSON.
pub(super) fn show(delays: &[Delay]) -> Value {
    let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
    let mut value = json!({
        "index": delays.iter().map(|one| one.index).collect::<Vec<_>>(),
        "start": delays.iter().map(|one| nanos(one.start)).collect::<Vec<_>>(),
        "delay": delays.iter().map(|one| nanos(one.delay)).collect::<Vec<_>>(),
    });
    if delays.iter().any(|one| one.first_path.is_some() || one.last_path.is_some()) {
        value["first_path"] = delays.iter().map(|one| json!(one.first_path)).collect();
        value["last_path"] = delays.iter().map(|one| json!(one.last_path)).collect();
    }
    value
}

/// The delays of run `run` from JSON; `None` if it is malformed. A line may have none.
pub(super) fn parse(run: u64, value: &Value) -> Option<Vec<Delay>> {
    if value.is_null() {
        return Some(Vec::new());
    }
    let indices = value["index"].as_array()?;
    let all = |key: &str| -> Option<Vec<Option<u64>>> {
        let Some(values) = value.get(key) else { return Some(vec![None; indices.len()]) };
        let values = values.as_array().filter(|values| values.len() == indices.len())?;
        let number = |value: &Value| match value {
            Value::Null => Some(None),
            _ => value.as_u64().map(Some),
        };
        values.iter().map(number).collect()
    };
    let (starts, delays) = (all("start")?, all("delay")?);
    let (firsts, lasts) = (all("first_path")?, all("last_path")?);
    let path = |number: Option<u64>| number.and_then(|number| u16::try_from(number).ok());
    let one = |(place, index): (usize, &Value)| {
        Some(Delay {
            run,
            index: u32::try_from(index.as_u64()?).ok()?,
            start: starts[place].map(Duration::from_nanos),
            delay: delays[place].map(Duration::from_nanos),
            first_path: path(firsts[place]),
            last_path: path(lasts[place]),
        })
    };
    indices.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_as_they_were_written() {
        let time = |nanos: u64| Some(Duration::from_nanos(nanos));
        let one = |index, start, delay, last_path| Delay {
            run: 9,
            index,
            start,
            delay,
            first_path: None,
            last_path,
        };
        let plain = vec![one(1, time(0), time(33_333_333), None), one(4, time(7), None, None)];
        let paths = vec![one(2, None, None, None), one(3, time(5), time(6), Some(1))];
        for delays in [plain, paths] {
            assert_eq!(parse(9, &show(&delays)), Some(delays));
        }
        assert_eq!(parse(9, &Value::Null), Some(Vec::new()));
        for bad in [json!({"index": [1], "delay": []}), json!({"index": ["a"]}), json!([])] {
            assert_eq!(parse(9, &bad), None, "{bad}");
        }
    }
}
