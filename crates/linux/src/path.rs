//! `--path dev=TUN[,dev=TUN]`: the devices an engine uses, and addresses on them if they are given.
//!
//! The grammar is `dev=NAME[,addr=ADDRESS[/LENGTH]]...[,backup]`, repeated; what follows a device
//! belongs to it. `backup` is the word of `ip mptcp`. Opening devices is left to `device`.

use crate::address::Subnet;
use crate::error::LiveError;

/// Longest name of a network device (Linux IFNAMSIZ less its zero).
const MAX_NAME: usize = 15;

/// A device as the user named it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathDevice {
    /// The name of the TUN device.
    pub name: String,
    /// The engine's addresses on it; empty: derived from the kernel's.
    pub addresses: Vec<Subnet>,
    /// Data goes here only when no other path is left (MPTCP's B flag).
    pub backup: bool,
}

/// The devices of all `--path` options, in order.
pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathDevice>, LiveError> {
    let mut devices: Vec<PathDevice> = Vec::new();
    for text in texts {
        for item in text.split(',') {
            read_item(&mut devices, item).map_err(|why| refuse(text, &why))?;
        }
    }
    if devices.is_empty() {
        return Err(LiveError::Usage("no path: add --path dev=TUN".to_owned()));
    }
    Ok(devices)
}

fn read_item(devices: &mut Vec<PathDevice>, item: &str) -> Result<(), String> {
    match item.trim().split_once('=') {
        Some(("dev", name)) => {
            check_name(name)?;
            if devices.iter().any(|device| device.name == name) {
                return Err(format!("`{name}` is given twice"));
            }
            let (name, addresses) = (name.to_owned(), Vec::new());
            devices.push(PathDevice { name, addresses, backup: false });
        }
        Some(("addr", address)) => {
            let subnet = address.parse().map_err(|()| format!("`{address}` is not an address"))?;
            let device = devices.last_mut().ok_or("an address needs a device before it")?;
            device.addresses.push(subnet);
        }
        None if item.trim() == "backup" => {
            let device = devices.last_mut().ok_or("`backup` needs a device before it")?;
            device.backup = true;
        }
        Some((key, _)) => {
            return Err(format!("unknown key `{key}`; valid are dev, addr and backup"));
        }
        None => return Err(format!("`{item}` is not KEY=VALUE")),
    }
    Ok(())
}

/// What the kernel accepts as a device's name.
fn check_name(name: &str) -> Result<(), String> {
    let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name == "." || name == ".." || name.contains(odd) {
        return Err(format!("`{name}` cannot be a device's name"));
    }
    if name.len() > MAX_NAME {
        return Err(format!("`{name}` is longer than {MAX_NAME} characters"));
    }
    Ok(())
}

fn refuse(text: &str, why: &str) -> LiveError {
    LiveError::Usage(format!(
        "--path {text}: {why}\n  write it as dev=TUN[,addr=ADDRESS/LENGTH][,backup][,dev=TUN...]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_their_addresses_are_read_in_order() {
        let devices = parse(["dev=tun0,addr=10.9.0.2/24,addr=fd00::2", "dev=tun1,backup"]);
        let devices = devices.expect("two devices");
        assert_eq!(devices[0].name, "tun0");
        let addresses: Vec<String> = devices[0].addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.9.0.2/24", "fd00::2/64"]);
        let (name, addresses) = ("tun1".to_owned(), vec![]);
        assert_eq!(devices[1], PathDevice { name, addresses, backup: true });
        assert!(!devices[0].backup);
    }

    #[test]
    fn bad_paths_are_refused_with_their_text() {
        for (text, part) in [
            ("", "not KEY=VALUE"),
            ("tun0", "not KEY=VALUE"),
            ("dev=", "cannot be"),
            ("dev=../x", "cannot be"),
            ("dev=abcdefghijklmnop", "longer than 15"),
            ("dev=a,dev=a", "twice"),
            ("addr=10.0.0.1", "device before"),
            ("backup", "device before"),
            ("dev=a,addr=10.0.0.300", "is not an address"),
            ("dev=a,via=b", "unknown key"),
        ] {
            let error = parse([text]).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains(&format!("--path {text}")), "{error}");
        }
        assert!(parse([]).is_err());
    }
}
