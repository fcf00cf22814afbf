//! The server against a host of one scripted socket.

use super::*;
use std::cell::RefCell;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::rc::Rc;

const SOCKET: SocketId = SocketId(7);

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("anabranch-serve-{name}-{id}"));
        std::fs::create_dir_all(path.join("sub")).expect("a folder");
        std::fs::write(path.join("a.bin"), vec![7; 600_000]).expect("a file");
        std::fs::write(path.join("sub/b"), "inner").expect("a file");
        symlink("/etc/passwd", path.join("out")).expect("a link");
        symlink("sub/b", path.join("in")).expect("a link");
        nix::unistd::mkfifo(&path.join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Default)]
struct Script {
    now: Instant,
    incoming: Vec<u8>,
    written: Vec<u8>,
    /// Bytes the socket takes before it is full.
    room: u32,
    acknowledged: u64,
    shut: bool,
    aborted: bool,
}

impl StreamHost for Script {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        Err(StreamFailure::Local)
    }
    fn write(&mut self, _socket: SocketId, payload: &Payload) -> u32 {
        let taken = payload.len().min(self.room);
        self.room -= taken;
        payload.slice(0, taken).write_to(&mut self.written);
        taken
    }
    fn read(&mut self, _socket: SocketId, max: u32) -> Payload {
        let len = self.incoming.len().min(max as usize);
        Bytes::from(self.incoming.drain(..len).collect::<Vec<u8>>()).into()
    }
    fn acknowledged(&self, _socket: SocketId) -> Option<u64> {
        Some(self.acknowledged)
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
    server: FileServer,
    host: Script,
    log: Rc<RefCell<Vec<Served>>>,
    _folder: Folder,
}

fn case(name: &str, room: u32) -> Case {
    let folder = Folder::new(name);
    let log = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&log);
    let server = FileServer::new(&folder.0, move |served| sink.borrow_mut().push(served.clone()));
    let host = Script { room, ..Script::default() };
    Case { server: server.expect("a server"), host, log, _folder: folder }
}

fn ask(case: &mut Case, request: &str) -> String {
    case.host.incoming.extend_from_slice(request.as_bytes());
    case.server.on_accepted(&mut case.host, SOCKET);
    String::from_utf8_lossy(&case.host.written).into_owned()
}

fn get(case: &mut Case, path: &str) -> String {
    ask(case, &format!("GET {path} HTTP/1.0\r\n\r\n"))
}

#[test]
fn file_is_sent_whole_though_the_socket_takes_it_in_bits() {
    let mut case = case("whole", 1000);
    get(&mut case, "/a.bin");
    while !case.host.shut {
        case.host.room += 50_000;
        case.server.on_writable(&mut case.host, SOCKET);
    }
    assert_eq!(case.log.borrow().len(), 0);
    case.server.on_peer_closed(&mut case.host, SOCKET);
    let head = http::parse_response(&case.host.written).expect("an answer").expect("complete");
    assert_eq!((head.status, head.content_length), (200, Some(600_000)));
    assert_eq!(case.host.written[head.len..], vec![7; 600_000]);
    let log = case.log.borrow();
    assert_eq!((log[0].bytes, log[0].failure.as_deref()), (600_000, None));
}

#[test]
fn what_is_not_a_file_of_the_folder_is_refused() {
    for (path, status) in [
        ("/sub/b", "200"),
        ("/in", "200"),
        ("/out", "403"),
        ("/none", "404"),
        ("/sub", "404"),
        ("/pipe", "404"),
        ("/a.bin/x", "404"),
        ("/../a", "400"),
        ("/%2e%2e/%2e%2e/etc/passwd", "400"),
    ] {
        let mut case = case("refused", u32::MAX);
        let answer = get(&mut case, path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(case.host.shut, "{path}");
        assert!(!answer.contains("root:"), "{path}");
    }
}

#[test]
fn head_gives_the_length_without_the_file() {
    let mut case = case("head", u32::MAX);
    let answer = ask(&mut case, "HEAD /sub/b HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.contains("Content-Length: 5\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn refusal_of_head_has_no_content_and_that_of_a_method_names_the_others() {
    for (request, length) in [("HEAD /none", 14), ("HEAD /../a", 16), ("\r\nHEAD /none", 14)] {
        let mut case = case("refused-head", u32::MAX);
        let answer = ask(&mut case, &format!("{request} HTTP/1.0\r\n\r\n"));
        assert!(answer.contains(&format!("Content-Length: {length}\r\n")), "{answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{request}: {answer}");
        assert!(case.host.shut);
    }
    let mut case = case("refused-method", u32::MAX);
    let answer = ask(&mut case, "POST /a.bin HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("\r\nAllow: GET, HEAD\r\n"));
}

#[test]
fn requested_path_neither_begins_a_line_of_the_log_nor_commands_a_terminal() {
    let mut case = case("log", u32::MAX);
    let answer = get(&mut case, "/%1b%5b2J%0a200%20/other");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    case.server.on_peer_closed(&mut case.host, SOCKET);
    assert_eq!(case.log.borrow()[0].path, "%1B[2J%0A200 /other");
}

#[test]
fn request_in_two_pieces_is_put_together() {
    let mut case = case("pieces", u32::MAX);
    assert_eq!(ask(&mut case, "GET /sub"), "");
    case.host.incoming.extend_from_slice(b"/b HTTP/1.0\r\n\r\n");
    case.server.on_readable(&mut case.host, SOCKET);
    assert!(case.host.written.ends_with(b"inner"));
}

#[test]
fn silent_client_is_reset_when_patience_ends() {
    let mut case = case("silent", u32::MAX);
    ask(&mut case, "GET /a");
    let deadline = case.server.poll_deadline().expect("a deadline");
    case.host.now = deadline;
    case.server.on_timeout(&mut case.host);
    assert!(!case.host.aborted);
    case.host.now = Instant::ZERO + PATIENCE;
    case.server.on_timeout(&mut case.host);
    assert!(case.host.aborted);
    assert!(case.log.borrow()[0].failure.as_ref().is_some_and(|why| why.contains("60s")));
    assert_eq!(case.server.poll_deadline(), None);
}

#[test]
fn client_that_is_slow_but_acknowledges_gets_the_whole_answer() {
    for room in [u32::MAX, 1000] {
        let mut case = case("slow", room);
        get(&mut case, "/a.bin");
        assert_eq!(case.host.shut, room == u32::MAX, "written at once where there is room");
        for seconds in (0..=300).step_by(5) {
            case.host.now = Instant::from_secs(seconds);
            case.host.acknowledged += 1000;
            case.server.on_timeout(&mut case.host);
        }
        assert!(!case.host.aborted, "{:?}", case.log.borrow());
        case.host.now = Instant::from_secs(359);
        case.server.on_timeout(&mut case.host);
        assert!(!case.host.aborted);
        case.host.now = Instant::from_secs(360);
        case.server.on_timeout(&mut case.host);
        assert!(case.host.aborted, "60 s after the last acknowledgement");
    }
}

#[test]
fn transfer_lasts_until_the_client_has_closed() {
    let mut case = case("time", u32::MAX);
    get(&mut case, "/a.bin");
    case.host.now = Instant::from_secs(20);
    case.server.on_peer_closed(&mut case.host, SOCKET);
    assert_eq!(case.log.borrow()[0].time, Duration::from_secs(20));
}

#[test]
fn server_that_ends_tells_what_it_was_at() {
    let mut case = case("ends", 1000);
    get(&mut case, "/a.bin");
    let Case { server, log, .. } = case;
    drop(server);
    assert_eq!(log.borrow()[0].failure.as_deref(), Some("the server was stopped"));
}

#[test]
fn file_that_shrinks_ends_in_a_reset() {
    let mut case = case("shrinks", 1000);
    get(&mut case, "/a.bin");
    std::fs::write(case._folder.0.join("a.bin"), "short").expect("a shorter file");
    case.host.room = u32::MAX;
    case.server.on_writable(&mut case.host, SOCKET);
    assert!(case.host.aborted && !case.host.shut);
}

#[test]
fn connection_beyond_the_limit_is_reset() {
    let mut case = case("limit", u32::MAX);
    for number in 0..MAX_CONNECTIONS as u32 {
        case.server.on_accepted(&mut case.host, SocketId(number));
    }
    assert!(!case.host.aborted);
    case.server.on_accepted(&mut case.host, SocketId(1000));
    assert!(case.host.aborted);
}
