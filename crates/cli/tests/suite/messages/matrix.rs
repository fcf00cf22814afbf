//! Tables of `matrix` and lists that it refuses.

use super::Session;

const SMALL: [&str; 7] =
    ["matrix", "--traffic", "bulk:64KiB,video:2s", "--paths", "3g+3g,wlan+3g", "--runs", "4"];

#[test]
fn help_of_matrix() {
    let mut session = Session::new("help-matrix");
    session.call(&["matrix", "-h"]);
    session.end();
}

#[test]
fn tables_of_matrix() {
    let mut session = Session::new("matrix");
    session.call(&SMALL);
    // The paper's cells, with too few runs for a class.
    session.call(&["matrix", "--runs", "2"]);
    session.call(&[&SMALL[..], &["--markdown", "--protocols", "mptcp"]].concat());
    let paths = ["--path", "a=rate 5mbit delay 10ms loss 1%", "--path", "b=rate 4mbit delay 15ms"];
    let own = ["matrix", "--traffic", "bulk:256KiB", "--protocols", "tcp,mptcp", "--runs", "auto"];
    let goal = ["--goal", "mean completion_time < 400ms", "--out", "results"];
    session.call(&[&own[..], &paths, &goal].concat());
    session.call(&[&own[..], &paths, &goal, &["--json"]].concat());
    session.call(&["report", "results"]);
    let short = ["--deadline", "100ms"];
    session.call(&[&own[..], &paths, &short].concat());
    session.end();
}

#[test]
fn lists_of_matrix() {
    let mut session = Session::new("matrix-lists");
    let lists: &[&[&str]] = &[
        &["--paths", "wlan"],
        &["--paths", "wlan+3g,wlam+3g"],
        &["--paths", ""],
        &["--paths", "wlan+"],
        &["--paths", "3g+3g,3g+3g"],
        &["--paths", "3g+3g+3g+3g+3g+3g+3g+3g+3g"],
        &["--path", "a=rate 1mbit"],
        &["--traffic", "video,"],
        &["--traffic", "video,vidoe"],
        &["--traffic", "video,web:amason"],
        &["--protocols", "tcp,sctp"],
        &["--protocols", "mtcp"],
        &["--protocols", "mptcp", "--cc", "olia"],
        &["--schedulers", "lrf,blst"],
        &["--metric", "page_load_time"],
        &["--runs", "0"],
        &["--baseline", "tcp/wlan/cubic"],
        &["--data", "nowhere"],
        &["--json", "--markdown"],
    ];
    for more in lists {
        session.call(&[&["matrix"][..], more].concat());
    }
    session.file("file", "in the way");
    session.call(&[&SMALL[..], &["--out", "file"]].concat());
    session.end();
}
