//! A report in a browser without a network.

use crate::Scratch;
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A page after its scripts have run.
pub(crate) struct Page {
    dom: String,
}

/// Excess in pixels of the page in `file` over the width of its window; `None`
/// without a browser. A window is at least 500 pixels wide, a frame is not.
pub(crate) fn excess_width(file: &str, width: u32, scratch: &Scratch) -> Option<String> {
    let script = "onload = () => setTimeout(() => { const page = frame.contentDocument\
                  .documentElement; document.body.id = 'excess' + (page.scrollWidth - \
                  page.clientWidth); }, 5000)";
    let outer = scratch.file(
        "frame.html",
        &format!(
            "<!doctype html><body><iframe id=\"frame\" style=\"width:{width}px;height:900px\" \
             src=\"file://{file}\"></iframe><script>{script}</script>"
        ),
    );
    let page = shown(&outer, scratch)?;
    let at = page.dom.find("id=\"excess")? + "id=\"excess".len();
    Some(page.dom[at..].chars().take_while(|c| *c != '"').collect())
}

/// The page in `file`; without a browser, prints a line and returns `None`. Panics on errors and on
/// network requests.
pub(crate) fn shown(file: &str, scratch: &Scratch) -> Option<Page> {
    shown_in(Theme::Light, file, scratch)
}

/// The theme that the system prefers, by its number in Chromium.
#[derive(Clone, Copy)]
pub(crate) enum Theme {
    Dark = 0,
    Light = 1,
}

/// The same in a theme.
pub(crate) fn shown_in(theme: Theme, file: &str, scratch: &Scratch) -> Option<Page> {
    let profile = scratch.path("profile");
    let open = |browser: &&str| {
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--window-size=1200,4000", "--virtual-time-budget=20000", "--dump-dom"])
            .arg("--allow-file-access-from-files")
            .arg(format!("--blink-settings=preferredColorScheme={}", theme as u8))
            .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={profile}"))
            .arg(format!("file://{file}"))
            .output()
            .ok()
    };
    let Some(output) = BROWSERS.iter().find_map(open) else {
        eprintln!("skipped: no Chromium on this machine");
        return None;
    };
    let log = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    assert!(!log.contains("net::ERR"), "{log}");
    Some(Page { dom: String::from_utf8_lossy(&output.stdout).into_owned() })
}

impl Page {
    pub(crate) fn has(&self, text: &str) -> bool {
        self.dom.contains(text)
    }

    /// Number of occurrences of `text` in the figure with this name.
    pub(crate) fn marks(&self, id: &str, text: &str) -> usize {
        self.figure(id).matches(text).count()
    }

    pub(crate) fn figure(&self, id: &str) -> &str {
        let start = self.dom.find(&format!("<div id=\"{id}\"")).expect("the figure's place");
        let end = self.dom[start..].find("<script>").map_or(self.dom.len(), |at| start + at);
        &self.dom[start..end]
    }
}
