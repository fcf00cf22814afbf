//! The subcommand `man`: manual pages, from the same description of options as the help.
//!
//! Without a folder, one page with all subcommands on standard output; with a folder, one page per
//! subcommand, as in packages.

use crate::exit::{FAILED, USAGE};
use crate::output::{error, message, print};
use crate::save::Overwrite;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use lab::results::MANUAL;
use std::io;
use std::path::Path;

/// Options of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Folder for one page per command: anabranch.1, anabranch-compare.1, ... [default: one page
    /// with all commands, on standard output]
    #[arg(value_name = "DIR")]
    dir: Option<String>,
    /// Overwrite files that anabranch did not write
    #[arg(long, requires = "dir")]
    force: bool,
}

/// Runs the subcommand for this command line and returns the exit code.
pub(crate) fn man(args: &ManArgs, mut command: Command) -> u8 {
    command.build();
    let Some(dir) = &args.dir else {
        return match whole_page(&command) {
            Ok(page) => {
                print(&page);
                0
            }
            Err(e) => failed("cannot write the page", &e),
        };
    };
    let folder = Path::new(dir);
    if folder.exists() && !folder.is_dir() {
        error(&format!("`{dir}` is not a folder\n  help: name a folder for the pages"));
        return USAGE;
    }
    let mut pages = Vec::new();
    if let Err(e) = add_pages(&command, &mut pages) {
        return failed("cannot write the pages", &e);
    }
    let overwrite = Overwrite { force: args.force };
    let allowed =
        |(name, _): &(String, String)| overwrite.allow("DIR", &folder.join(name), "folder");
    if let Err(refusal) = pages.iter().try_for_each(allowed) {
        error(&refusal);
        return USAGE;
    }
    let write = |(name, page): &(String, String)| std::fs::write(folder.join(name), page);
    let written = std::fs::create_dir_all(folder).and_then(|()| pages.iter().try_for_each(write));
    if let Err(e) = written {
        return failed(&format!("cannot write to `{dir}`"), &e);
    }
    message(&format!("wrote {} pages to {dir}", pages.len()));
    0
}

fn failed(what: &str, why: &io::Error) -> u8 {
    error(&format!("{what}: {why}"));
    FAILED
}

/// Adds the names and contents of the page of a command and of those of its subcommands.
fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let man = man_of(command);
    let page = head(&man)? + &body(&man, command)?;
    pages.push((man.get_filename(), format!("{MANUAL}{}\n{page}", env!("CARGO_PKG_VERSION"))));
    shown_verbs(command).try_for_each(|verb| add_pages(verb, pages))
}

/// The command and all of its subcommands, whose sections become subsections.
fn whole_page(command: &Command) -> io::Result<String> {
    let man = man_of(command);
    let mut page = head(&man)?;
    page.push_str(&body(&man, command)?);
    append_verbs(&mut page, command)?;
    Ok(page)
}

/// The subcommands that are not hidden.
fn shown_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// The generator for a command.
fn man_of(command: &Command) -> Man {
    Man::new(command.clone()).source(concat!("anabranch ", env!("CARGO_PKG_VERSION")))
}

fn append_verbs(page: &mut String, command: &Command) -> io::Result<()> {
    for verb in shown_verbs(command) {
        let name = verb.get_bin_name().unwrap_or_else(|| verb.get_name());
        page.push_str(&format!(".SH \"{}\"\n", name.to_uppercase()));
        let sections = body(&man_of(verb), verb)?;
        page.push_str(&sections.replace("\n.SH ", "\n.SS "));
        append_verbs(page, verb)?;
    }
    Ok(())
}

/// Title and name.
fn head(man: &Man) -> io::Result<String> {
    rendered(|out| {
        man.render_title(out)?;
        man.render_name_section(out)
    })
}

/// The page without title and name.
fn body(man: &Man, command: &Command) -> io::Result<String> {
    let mut text = rendered(|out| {
        man.render_synopsis_section(out)?;
        man.render_description_section(out)?;
        man.render_options_section(out)?;
        if command.has_subcommands() { man.render_subcommands_section(out) } else { Ok(()) }
    })?;
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    text.push_str(&after.map_or(String::new(), |help| after_help(&help.to_string())));
    Ok(text)
}

/// Examples and grammar keep their line breaks; a line that ends with a colon begins a section.
fn after_help(help: &str) -> String {
    let mut roff = Roff::new();
    let is_heading = |line: &str| !line.starts_with(' ') && line.ends_with(':');
    if !help.lines().next().is_some_and(is_heading) {
        roff.control("SH", ["NOTES"]);
    }
    roff.control("nf", []);
    for line in help.lines() {
        match line.strip_suffix(':').filter(|_| is_heading(line)) {
            Some(heading) => {
                roff.control("fi", []);
                roff.control("SH", [heading.to_uppercase().as_str()]);
                roff.control("nf", []);
            }
            None => {
                roff.text([roman(line)]);
            }
        }
    }
    roff.control("fi", []);
    roff.to_roff()
}

fn rendered(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut page = Vec::new();
    write(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
