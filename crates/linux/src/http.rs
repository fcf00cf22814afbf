//! The little of HTTP (RFC 9110, 9112) that a plain file transfer needs, as bytes.
//!
//! A request is `GET /FILE HTTP/1.0`, or HTTP/1.1 with `Connection: close` to servers of our own
//! kind, the answer a head with `Content-Length` and the file; then the server closes. So the other
//! side may as well be `curl` or any web server. No persistent connections, ranges, encodings or
//! uploads. Sockets and files are `serve`'s and `get`'s.

use std::net::SocketAddr;

/// Longest head that is read, in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Most header lines that are read.
const MAX_HEADERS: usize = 64;

/// A request that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// `HEAD`: everything but the file.
    pub is_head: bool,
    /// Decoded, without the leading `/`; its components are names, none of them `..`.
    pub path: String,
}

/// The answers a server gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Ok,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    HeadTooLarge,
    ServerError,
}

impl Status {
    /// Number and phrase (RFC 9110 s15).
    pub const fn line(self) -> (u16, &'static str) {
        match self {
            Status::Ok => (200, "OK"),
            Status::BadRequest => (400, "Bad Request"),
            Status::Forbidden => (403, "Forbidden"),
            Status::NotFound => (404, "Not Found"),
            Status::MethodNotAllowed => (405, "Method Not Allowed"),
            Status::RequestTimeout => (408, "Request Timeout"),
            Status::HeadTooLarge => (431, "Request Header Fields Too Large"),
            Status::ServerError => (500, "Internal Server Error"),
        }
    }
}

/// The request at the beginning of `bytes`; `Ok(None)` if its end is not there yet.
pub(crate) fn parse_request(bytes: &[u8]) -> Result<Option<Request>, Status> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let status = match request.parse(bytes) {
        Ok(status) => status,
        Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
        Err(_) => return Err(Status::BadRequest),
    };
    match status {
        httparse::Status::Complete(len) if len > MAX_HEAD => return Err(Status::HeadTooLarge),
        httparse::Status::Complete(_) => {}
        httparse::Status::Partial if bytes.len() < MAX_HEAD => return Ok(None),
        httparse::Status::Partial => return Err(Status::HeadTooLarge),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Status::MethodNotAllowed),
    };
    let path = decode_path(request.path.unwrap_or_default()).ok_or(Status::BadRequest)?;
    Ok(Some(Request { is_head, path }))
}

/// Whether a request, understood or not, is for the head of an answer only.
pub(crate) fn is_for_head(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"HEAD ")
}

/// The head of an answer.
pub(crate) fn response_head(status: Status, content_length: u64) -> Vec<u8> {
    let (number, phrase) = status.line();
    format!(
        "HTTP/1.1 {number} {phrase}\r\nServer: anabranch\r\n{}\
         Content-Type: {}\r\nContent-Length: {content_length}\r\nConnection: close\r\n\r\n",
        // RFC 9110 s15.5.6.
        if status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" },
        if status == Status::Ok { "application/octet-stream" } else { "text/plain" },
    )
    .into_bytes()
}

/// The version of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// Any web server answers it without an encoding.
    Http10,
    /// For servers that answer with a length or close at the end.
    Http11,
}

/// The request for a file of a server.
pub(crate) fn request_head(path: &str, server: SocketAddr, version: Version) -> Vec<u8> {
    let (version, close) = match version {
        Version::Http10 => ("1.0", ""),
        Version::Http11 => ("1.1", "Connection: close\r\n"),
    };
    format!(
        "GET /{} HTTP/{version}\r\nHost: {server}\r\n{close}User-Agent: anabranch\r\n\r\n",
        encode_path(path)
    )
    .into_bytes()
}

/// The head of an answer as far as it matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResponseHead {
    /// Bytes of the head.
    pub len: usize,
    pub status: u16,
    pub phrase: String,
    /// Bytes of the content, if the header has that field.
    pub content_length: Option<u64>,
}

/// The head at the beginning of `bytes`; `Ok(None)` if its end is not there yet.
pub(crate) fn parse_response(bytes: &[u8]) -> Result<Option<ResponseHead>, String> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let status = response.parse(bytes).map_err(|error| format!("not an HTTP answer: {error}"))?;
    let len = match status {
        httparse::Status::Complete(len) if len <= MAX_HEAD => len,
        httparse::Status::Partial if bytes.len() < MAX_HEAD => return Ok(None),
        _ => return Err(format!("the header of the answer is longer than {MAX_HEAD} bytes")),
    };
    let content_length = content_length(response.headers)?;
    Ok(Some(ResponseHead {
        len,
        status: response.code.unwrap_or(0),
        phrase: response.reason.unwrap_or_default().to_owned(),
        content_length,
    }))
}

/// RFC 9112 s6.3: several lengths must agree, and no other framing is understood here.
fn content_length(headers: &[httparse::Header<'_>]) -> Result<Option<u64>, String> {
    let mut length = None;
    for header in headers {
        if header.name.eq_ignore_ascii_case("Transfer-Encoding") {
            return Err("the server encodes its answer, which is not supported".to_owned());
        }
        // The file would be stored in its encoded form.
        if header.name.eq_ignore_ascii_case("Content-Encoding")
            && !header.value.trim_ascii().eq_ignore_ascii_case(b"identity")
        {
            return Err("the server encodes the file, which is not supported".to_owned());
        }
        if !header.name.eq_ignore_ascii_case("Content-Length") {
            continue;
        }
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|_| is_number);
        let refuse = || format!("`{}` is not the length of a file", printable(value));
        let number = number.ok_or_else(refuse)?;
        if length.is_some_and(|known| known != number) {
            return Err("the server names two lengths of the file".to_owned());
        }
        length = Some(number);
    }
    Ok(length)
}

/// The file that the path of a request names; `None` if it leads anywhere but down.
pub(crate) fn decode_path(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next()?.strip_prefix('/')?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = behind;
    }
    let path = String::from_utf8(bytes).ok()?;
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    path.split('/').all(is_name).then_some(path)
}

/// RFC 3986 s2: what is not unreserved is written in hexadecimal; `/` stays.
fn encode_path(path: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}

/// Text of a peer with its control characters in hexadecimal, as in a URL: a terminal would obey
/// them, and a log have lines that nobody wrote.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut utf8 = [0; 4];
    for c in text.chars() {
        let bytes = c.encode_utf8(&mut utf8);
        if c.is_control() {
            shown.extend(bytes.bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            shown.push_str(bytes);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Result<Option<Request>, Status> {
        parse_request(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
    }

    #[test]
    fn request_of_curl_is_understood() {
        let request = get("/a/b%20c.txt?x=1").expect("well-formed").expect("complete");
        assert_eq!(request, Request { is_head: false, path: "a/b c.txt".to_owned() });
        assert_eq!(parse_request(b"GET /a HTTP/1.0\r\n"), Ok(None));
        assert_eq!(parse_request(b"POST /a HTTP/1.0\r\n\r\n"), Err(Status::MethodNotAllowed));
        assert_eq!(parse_request(b"\x16\x03\x01\x00"), Err(Status::BadRequest));
    }

    #[test]
    fn path_that_leads_up_or_nowhere_is_refused() {
        for path in [
            "/../etc/passwd",
            "/a/../../b",
            "/%2e%2e/x",
            "/%2E%2E%2fetc",
            "//etc",
            "/",
            "x",
            "/a//b",
            "/a%00b",
            "/%",
            "/%zz",
            "/%+1",
            "/.",
            "/a/..",
            "http://x/y",
            "/%ff",
        ] {
            assert_eq!(get(path), Err(Status::BadRequest), "{path}");
        }
    }

    #[test]
    fn endless_request_is_refused() {
        let mut bytes = b"GET /a HTTP/1.0\r\nX: ".to_vec();
        bytes.resize(MAX_HEAD, b'x');
        assert_eq!(parse_request(&bytes), Err(Status::HeadTooLarge));
        // Regression: up to twice as much, if its last bytes came together.
        let field = |length| format!("GET /a HTTP/1.0\r\nX: {}\r\n\r\n", "x".repeat(length));
        let longest = MAX_HEAD - field(0).len();
        assert!(parse_request(field(longest).as_bytes()).is_ok_and(|request| request.is_some()));
        assert_eq!(parse_request(field(longest + 1).as_bytes()), Err(Status::HeadTooLarge));
        let answer = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(MAX_HEAD));
        assert!(parse_response(answer.as_bytes()).is_err());
        let many = "A: b\r\n".repeat(MAX_HEADERS + 1);
        let text = format!("GET /a HTTP/1.0\r\n{many}\r\n");
        assert_eq!(parse_request(text.as_bytes()), Err(Status::HeadTooLarge));
    }

    #[test]
    fn own_request_and_answer_are_understood() {
        let server: SocketAddr = "10.0.0.1:80".parse().expect("an address");
        let request = parse_request(&request_head("a b/ü%.txt", server, Version::Http11));
        assert_eq!(request.map(|r| r.map(|r| r.path)), Ok(Some("a b/ü%.txt".to_owned())));
        let head = response_head(Status::Ok, 17);
        let parsed = parse_response(&head).expect("an answer").expect("complete");
        assert_eq!((parsed.status, parsed.content_length), (200, Some(17)));
        assert_eq!(parsed.len, head.len());
        assert_eq!(parse_response(&head[..20]), Ok(None));
    }

    #[test]
    fn control_characters_of_a_peer_are_not_printed() {
        assert_eq!(printable("a b/ü%.txt"), "a b/ü%.txt");
        assert_eq!(printable("\x1b[2J\n\u{9b}0m\t"), "%1B[2J%0A%C2%9B0m%09");
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \u{9b}2J\r\n\r\n";
        let why = parse_response(head.as_bytes()).expect_err("no length");
        assert_eq!(why, "`%C2%9B2J` is not the length of a file");
    }

    #[test]
    fn doubtful_lengths_are_refused() {
        for headers in [
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: -1",
            "Content-Length: +5",
            "Content-Length: 99999999999999999999",
            "Content-Length: 5, 5",
            "Transfer-Encoding: chunked",
            "Content-Length: 5\r\nContent-Encoding: gzip",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
            assert!(parse_response(text.as_bytes()).is_err(), "{headers}");
        }
        let plain = b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n";
        assert!(parse_response(plain).is_ok());
        assert!(parse_response(b"SSH-2.0-OpenSSH\r\n").is_err());
    }
}
