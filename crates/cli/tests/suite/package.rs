//! The archive and the Debian package of `make dist`; a script that starts the program stands in
//! for it.

use crate::{Scratch, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Writes a script for the shell.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn shell(command: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("bash").args(["-c", command]).current_dir(root).output();
    output.expect("bash(1)")
}

/// Makes the package in a folder of the scratch; returns its checksums.
fn package(scratch: &Scratch, folder: &str, umask: &str) -> String {
    let target = scratch.0.join(folder);
    let start = format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_anabranch"));
    script(&target.join("dist-build/release/anabranch"), &start);
    let strip = scratch.0.join("strip");
    script(&strip, "cp \"$3\" \"$2\"");
    let objdump = scratch.0.join("objdump");
    script(&objdump, "echo 'DF *UND* (GLIBC_2.34) read'");
    let output = shell(&format!(
        "umask {umask}; PLAIN=1 CARGO=true STRIP={} OBJDUMP={} CARGO_TARGET_DIR={} packaging/dist",
        strip.display(),
        objdump.display(),
        target.display()
    ));
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read_to_string(target.join("dist/SHA256SUMS")).expect("checksums")
}

#[test]
fn package_has_the_same_bytes_again_and_installs_program_manual_and_completions() {
    if !shell("command -v dpkg-deb md5sum gzip").status.success() {
        return println!("skipped: no tools to make a Debian package with");
    }
    let scratch = Scratch::new("package");
    let sums = package(&scratch, "one", "022");
    assert_eq!(sums.lines().count(), 2, "{sums}");
    assert_eq!(package(&scratch, "two", "077"), sums, "whatever the folder, time and umask");
    let (dist, root) = (scratch.path("one/dist"), scratch.path("root"));
    let output = shell(&format!(
        "cd {dist} && sha256sum --quiet -c SHA256SUMS && dpkg-deb -R *.deb {root} && cd {root} && \
         md5sum --quiet -c DEBIAN/md5sums && usr/bin/anabranch --version && \
         gzip -dc usr/share/man/man1/anabranch-compare.1.gz | grep -c '^.TH anabranch-compare' && \
         ls usr/share/anabranch/scenarios/demo.toml usr/share/anabranch/data/README.md \
         usr/share/bash-completion/completions/anabranch usr/share/zsh/site-functions/_anabranch"
    ));
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let shown = stdout(&output);
    assert!(
        shown.starts_with(concat!("anabranch ", env!("CARGO_PKG_VERSION"), "\n1\n")),
        "{shown}"
    );
}
