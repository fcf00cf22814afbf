//! Tables of `reproduce`, and what it refuses.

use super::Session;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claims");

/// A session in a folder with the claims of a sample.
fn session(name: &'static str) -> Session {
    let session = Session::new(name);
    let folder = session.scratch.0.join("sample/009-sample");
    std::fs::create_dir_all(&folder).expect("a folder");
    for file in ["claims.toml", "burst.toml"] {
        let text = std::fs::read(format!("{SAMPLE}/009-sample/{file}")).expect("a file");
        std::fs::write(folder.join(file), text).expect("a file");
    }
    session
}

#[test]
fn help_of_reproduce() {
    let mut session = Session::new("help-reproduce");
    session.call(&["reproduce", "-h"]);
    session.end();
}

#[test]
fn tables_of_reproduce() {
    let mut session = session("reproduce");
    let call = ["reproduce", "all", "--claims", "sample"];
    session.call(&[&call[..], &["--list"]].concat());
    session.call(&[&call[..], &["--quick"]].concat());
    session.call(&[&call[..], &["--markdown", "--no-linux", "--out", "out"]].concat());
    session.call(&["reproduce", "009/fig1,009-c3", "--claims", "sample", "--quiet"]);
    session.call(&["reproduce", "009/FIG4", "--claims", "sample", "--quick", "--quiet"]);
    session.call(&[&call[..], &["--no-linux", "--out", "out", "--json"]].concat());
    session.end();
}

/// A part of the papers that takes no time.
#[test]
fn bursts_of_the_papers() {
    let mut session = Session::new("reproduce-papers");
    session.call(&["reproduce", "002/fig6,002/fig8", "--quick"]);
    session.end();
}

#[test]
fn selections_and_folders_of_reproduce() {
    let mut session = session("reproduce-refused");
    let call = ["reproduce", "all", "--claims", "sample"];
    for what in ["", "009/fig9", "009-C5", "010", "all,009-D1"] {
        session.call(&["reproduce", what, "--claims", "sample"]);
    }
    session.call(&["reproduce"]);
    session.call(&["reproduce", "all", "--claims", "nowhere"]);
    std::fs::create_dir(session.scratch.0.join("empty")).expect("a folder");
    session.call(&["reproduce", "all", "--claims", "empty"]);
    session.call(&[&call[..], &["--shard", "3/2", "--out", "out"]].concat());
    session.call(&[&call[..], &["--shard", "1/2"]].concat());
    for printed in ["--json", "--markdown"] {
        session.call(&[&call[..], &["--shard", "1/2", "--out", "out", printed]].concat());
    }
    session.call(&[&call[..], &["--merge", "nowhere"]].concat());
    session.call(&[&call[..], &["--write", "empty"]].concat());
    session.call(&[&call[..], &["--write", "sample/009-sample/claims.toml/text.md"]].concat());
    session.call(&[&call[..], &["--merge", "empty"]].concat());
    let one = ["reproduce", "009-C3", "--claims", "sample", "--no-linux"];
    session.call(&[&one[..], &["--merge", "empty"]].concat());
    session.call(&[&call[..], &["--scheduler", "lfr"]].concat());
    session.call(&[&call[..], &["--jobs", "many"]].concat());
    session.end();
}

#[test]
fn mistakes_in_claims() {
    let mut session = session("reproduce-claims");
    let part = |text: &str| claim(&format!("[[claim.part]]\n{text}\n"));
    let texts = [
        "paper = \"009\"".to_owned(),
        "paper = \"009\"\ntitle = \"\"\nclaim = \"none\"".to_owned(),
        "paper = \"009\"\ntitle = \"\"\n[experiment.burst]\nfile = \"brust.toml\"".to_owned(),
        claim(""),
        part("check = \"orders\""),
        part("chek = \"order\""),
        part("check = \"order\"\nexperiment = \"burst\"\nvalues = [\"tcp/fast/reno\"]"),
        part("check = \"range\"\nexperiment = \"burst\"\nvalues = [\"tcp/fast/reno\"]"),
        part("check = \"ratio\"\nexperiment = \"burst\"\nvalues = [1, 2]\nlow = \"much\""),
        part("check = \"ratio\"\nexperiment = \"burst\"\nvalues = [1, 2]\nlow = 3\nhigh = 1"),
        part("check = \"ratio\"\nexperiment = \"burst\"\nvalues = [1]\nlow = 1"),
        part("check = \"order\"\nexperiment = \"brust\"\nvalues = [1, 2]"),
        part("check = \"order\"\nstatistic = \"mode\"\nvalues = [1, 2]"),
        part("check = \"order\"\nvalues = [\"\", 2]"),
        part("check = \"order\"\nexperiment = \"burst\"\nvalues = [\"tcp/quick/reno\", 2]"),
        part("check = \"order\"\nexperiment = \"burst\"\nmetric = \"fun\"\nvalues = [\"best\", 2]"),
        part(
            "check = \"order\"\nexperiment = \"burst\"\nmetric = \"share:dsl\"\n\
             values = [\"best\", 2]",
        ),
        part(
            "check = \"order\"\nexperiment = \"burst\"\nmetric = \"number:rtt/fst/p50\"\n\
             values = [\"best\", 2]",
        ),
        part(
            "check = \"order\"\nexperiment = \"burst\"\nmetric = \"number:data_pakets\"\n\
             values = [\"best\", 2]",
        ),
        part("check = \"order\"\nvalues = [\"best\", 2]"),
        part("check = \"order\"\nexperiment = \"burst\"\nvalues = [\"best:sctp\", 2]"),
        claim("missing = \"no\"\n[[figure]]\nid = \"f\"\ncaption = \"\"\ndraw = \"pie\""),
        claim(
            "missing = \"no\"\n[[figure]]\nid = \"f\"\ncaption = \"\"\ndraw = \"bars\"\n\
             claims = [\"009-C2\"]",
        ),
    ];
    let number = |rest: &str| {
        claim(&format!("missing = \"no\"\n[[number]]\nsource = \"s1\"\nsays = \"a burst\"\n{rest}"))
    };
    let only = part("check = \"order\"\nexperiment = \"burst\"\nvalues = [\"best\", 2]");
    let file = "file = \"burst.toml\"";
    let further = [
        only.replace(file, &format!("{file}\nonly = [\"tcp/quick/reno\"]")),
        only.replace("\"best\"", "\"mptcp/lrf/reno\"")
            .replace(file, &format!("{file}\nonly = [\"tcp/fast/reno\"]")),
        format!(
            "{only}[[claim.sensitivity]]\nsays = \"slower\"\n\
             set = {{ path = {{ third = \"rate 9mbit\" }} }}\n"
        ),
        number("experiment = \"burst\"\nvalues = [\"best\"]\npaper = [1, 2]"),
        number("experiment = \"burst\"\nvalues = [\"best\"]\npaper = [\"much\"]"),
        number("experiment = \"burst\"\npaper = [1]"),
        claim(
            "missing = \"no\"\n[[figure]]\nid = \"f\"\ncaption = \"\"\ndraw = \"bars\"\n\
             scale = \"root\"",
        ),
    ];
    for text in texts.into_iter().chain(further).chain(bad_drawings()) {
        session.file("sample/009-sample/claims.toml", text);
        session.call(&["reproduce", "all", "--claims", "sample", "--quick", "--quiet"]);
    }
    session.end();
}

/// A claims file with one claim of this part.
fn claim(part: &str) -> String {
    format!(
        "paper = \"009\"\ntitle = \"A sample\"\n[experiment.burst]\nfile = \"burst.toml\"\n\
         [[claim]]\nid = \"009-C1\"\nkind = \"hard\"\nsource = \"s1\"\npaper = \"so\"\n{part}"
    )
}

/// Figures over time and tables of outcomes that are refused.
fn bad_drawings() -> Vec<String> {
    let figure = |rest: &str| {
        claim(&format!("missing = \"no\"\n[[figure]]\nid = \"f\"\ncaption = \"\"\n{rest}"))
    };
    let column = "{ name = \"lrf\", experiment = \"x\", values = [\"best\", 2] }";
    let matrix = |rows: &str, columns: &str| {
        figure(&format!("draw = \"matrix\"\nrows = [{rows}]\ncolumns = [{columns}]"))
    };
    vec![
        figure("draw = \"series\"\nexperiments = [\"burst\"]"),
        figure("draw = \"series\"\nexperiments = [\"burst\"]\nquantity = \"window\""),
        matrix("", column),
        matrix("{ name = \"all\", experiment = \"burst\" }", column),
        matrix("{ name = \"all\", experiment = \"{}\" }", column),
        matrix(
            "{ name = \"all\", experiment = \"{}\" }",
            "{ name = \"lrf\", experiment = \"burst\", values = [\"best\"] }",
        ),
    ]
}
