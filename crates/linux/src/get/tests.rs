//! The client against a host of one scripted socket.

use super::*;
use std::path::PathBuf;

const SOCKET: SocketId = SocketId(3);

#[derive(Default)]
struct Script {
    now: Instant,
    incoming: Vec<u8>,
    written: Vec<u8>,
    shut: bool,
    aborted: bool,
}

impl StreamHost for Script {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        Ok(SOCKET)
    }
    fn write(&mut self, _socket: SocketId, payload: &Payload) -> u32 {
        payload.write_to(&mut self.written);
        payload.len()
    }
    fn read(&mut self, _socket: SocketId, max: u32) -> Payload {
        let len = self.incoming.len().min(max as usize);
        Bytes::from(self.incoming.drain(..len).collect::<Vec<u8>>()).into()
    }
    fn shutdown(&mut self, _socket: SocketId) {
        self.shut = true;
    }
    fn close(&mut self, _socket: SocketId) {}
    fn abort(&mut self, _socket: SocketId) {
        self.aborted = true;
    }
}

struct Case {
    download: Download,
    host: Script,
    folder: PathBuf,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("anabranch-get-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let server = "10.0.0.1:80".parse().expect("an address");
        let download = Download::new(server, "f", &folder.join("out"), true, |_| {});
        let mut case =
            Case { download: download.expect("a download"), host: Script::default(), folder };
        case.download.on_start(&mut case.host);
        case.download.on_connected(&mut case.host, SOCKET);
        case
    }

    fn arrive(&mut self, bytes: &[u8]) {
        self.host.incoming.extend_from_slice(bytes);
        self.download.on_readable(&mut self.host, SOCKET);
    }

    fn failure(&self) -> String {
        self.download.result().expect_err("a failure").to_string()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).expect("the folder");
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn complete_file_takes_its_place_with_its_hash() {
    let mut case = Case::new("complete");
    assert!(case.host.written.starts_with(b"GET /f HTTP/1.0\r\n"));
    assert_eq!(case.files(), [".out.anabranch"]);
    case.arrive(b"HTTP/1.1 200 OK\r\nContent-Le");
    case.arrive(b"ngth: 3\r\n\r\na");
    case.host.now = Instant::from_millis(5);
    case.arrive(b"bc and what does not belong to it");
    let received = case.download.result().expect("complete");
    assert_eq!((received.bytes, received.time), (3, Duration::from_millis(5)));
    // SHA-256 of "abc": FIPS 180-4's example.
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(received.sha256.as_deref(), Some(hash));
    assert_eq!(case.files(), ["out"]);
    assert!(case.host.shut && !case.host.aborted);
}

#[test]
fn file_without_a_length_ends_with_the_stream() {
    let mut case = Case::new("no-length");
    case.arrive(b"HTTP/1.0 200 OK\r\n\r\nhello");
    assert!(!case.download.is_done());
    case.download.on_peer_closed(&mut case.host, SOCKET);
    assert_eq!(case.download.result().map(|received| received.bytes).ok(), Some(5));
}

#[test]
fn server_that_gives_no_answer_is_told_from_one_that_refuses() {
    let folder = Case::new("unanswered");
    let mut silent = other(&folder.folder);
    let mut host = Script { now: Instant::ZERO + PATIENCE, ..Script::default() };
    silent.on_timeout(&mut host);
    let why = silent.result().expect_err("a failure").to_string();
    assert_eq!(why, "connecting to 10.0.0.1:80: no answer for 60s");
    assert!(silent.is_unanswered());
    for (failure, is_unanswered) in [
        (StreamFailure::Refused, false),
        (StreamFailure::Reset, false),
        (StreamFailure::TimedOut, true),
        (StreamFailure::Unreachable, true),
    ] {
        drop(silent);
        silent = other(&folder.folder);
        silent.on_failed(SOCKET, failure);
        assert_eq!(silent.is_unanswered(), is_unanswered, "{failure}");
    }
}

#[test]
fn cut_and_refused_downloads_say_why_and_leave_nothing() {
    let cut = |case: &mut Case| case.download.on_peer_closed(&mut case.host, SOCKET);
    let mut case = Case::new("cut");
    case.arrive(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    cut(&mut case);
    assert!(case.failure().contains("after 5 of 9 bytes"), "{}", case.failure());
    assert!(case.host.aborted);

    let mut case = Case::new("refused");
    case.arrive(b"HTTP/1.0 404 Not Found\r\n\r\n");
    assert!(case.failure().contains("404 Not Found"), "{}", case.failure());

    let mut case = Case::new("reset");
    case.arrive(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    case.download.on_failed(SOCKET, StreamFailure::Reset);
    assert!(case.failure().contains("reset by peer after 5 of 9"), "{}", case.failure());

    let mut case = Case::new("silent");
    assert_eq!(case.download.poll_deadline(), Some(Instant::ZERO + PATIENCE));
    case.host.now = Instant::ZERO + PATIENCE;
    case.download.on_timeout(&mut case.host);
    assert_eq!(case.failure(), "nothing arrived for 60s after 0 bytes");
    assert!(case.host.aborted, "the server must not keep the connection");
    let folder = case.folder.clone();
    assert!(!case.download.is_unanswered());
    drop(std::mem::replace(&mut case.download, other(&folder)));
    assert_eq!(case.files(), [".other.anabranch"]);
}

fn other(folder: &Path) -> Download {
    let server = "10.0.0.1:80".parse().expect("an address");
    Download::new(server, "f", &folder.join("other"), false, |_| {}).expect("a download")
}

#[test]
fn second_download_to_the_same_place_is_refused() {
    let case = Case::new("twice");
    let server = "10.0.0.1:80".parse().expect("an address");
    let second = Download::new(server, "f", &case.folder.join("out"), false, |_| {});
    let why = second.err().expect("refused").to_string();
    assert!(why.contains("another download"), "{why}");
}

#[test]
fn rest_of_a_killed_download_is_taken_over() {
    let case = Case::new("killed");
    std::fs::write(case.folder.join(".new.anabranch"), "rest").expect("a file");
    let server = "10.0.0.1:80".parse().expect("an address");
    let download = Download::new(server, "f", &case.folder.join("new"), false, |_| {});
    let mut host = Script::default();
    let mut download = download.expect("a download");
    download.on_start(&mut host);
    download.on_connected(&mut host, SOCKET);
    host.incoming.extend_from_slice(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    download.on_readable(&mut host, SOCKET);
    assert_eq!(std::fs::read(case.folder.join("new")).expect("the file"), b"hi");
}

/// Regression: the file was downloaded, could not be renamed to `new/`, and was removed.
#[test]
fn output_that_is_a_folder_is_refused_before_the_download() {
    let folder = std::env::temp_dir();
    let server = "10.0.0.1:80".parse().expect("an address");
    for name in ["anabranch-new/", "anabranch-new/."] {
        let refused = Download::new(server, "f", &folder.join(name), false, |_| {}).err();
        let why = refused.expect("refused").to_string();
        assert!(why.ends_with("it is not the name of a file"), "{why}");
    }
}

/// Regression: a file that another program made in the meantime was overwritten.
#[test]
fn file_that_appears_during_the_download_is_left_as_it_is() {
    let mut case = Case::new("appeared");
    std::fs::write(case.folder.join("out"), b"other").expect("a file");
    case.arrive(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    let why = case.failure();
    assert!(why.contains("out appeared during the download"), "{why}");
    let kept = case.folder.join(".out.anabranch");
    assert!(why.ends_with(&format!("is in {} now", kept.display())), "{why}");
    assert_eq!(std::fs::read(case.folder.join("out")).expect("the file"), b"other");
    case.download = other(&case.folder);
    assert_eq!(std::fs::read(kept).expect("the download"), b"abc");
}
