//! Names of error causes (RFC 9260 s3.3.10).

use wire::sctp::Cause;

/// Most bytes of a reason that are shown.
const MOST_TEXT: usize = 80;

/// The cause as RFCs name it, with the reason of an upper layer or of a violation if it is text.
pub(super) fn cause_name(cause: &Cause) -> String {
    let name = match cause {
        Cause::InvalidStream(stream) => return format!("Invalid Stream Identifier {stream}"),
        Cause::MissingParameter(_) => "Missing Mandatory Parameter",
        Cause::StaleCookie(_) => "Stale Cookie",
        Cause::OutOfResource => "Out of Resource",
        Cause::UnresolvableAddress(_) => "Unresolvable Address",
        Cause::UnrecognizedChunk(_) => "Unrecognized Chunk Type",
        Cause::InvalidParameter => "Invalid Mandatory Parameter",
        Cause::UnrecognizedParameters(_) => "Unrecognized Parameters",
        Cause::NoUserData(_) => "No User Data",
        Cause::CookieWhileShuttingDown => "Cookie Received While Shutting Down",
        Cause::RestartWithNewAddresses(_) => "Restart of an Association with New Addresses",
        Cause::UserAbort(reason) => return with_reason("User-Initiated Abort", reason),
        Cause::ProtocolViolation(reason) => return with_reason("Protocol Violation", reason),
        Cause::DeleteLastAddress(_) => "Request to Delete Last Remaining IP Address",
        Cause::ResourceShortage(_) => "Operation Refused Due to Resource Shortage",
        Cause::DeleteSourceAddress(_) => "Request to Delete Source IP Address",
        Cause::IllegalAsconfAck => "Association Aborted due to illegal ASCONF-ACK",
        Cause::NoAuthorization(_) => "Request Refused - No Authorization",
        Cause::UnsupportedHmac(_) => "Unsupported HMAC Identifier",
        Cause::Other { code, .. } => return format!("cause {code}"),
    };
    name.to_owned()
}

fn with_reason(name: &str, reason: &[u8]) -> String {
    let reason = reason.strip_suffix(b"\0").unwrap_or(reason);
    let is_text = reason.iter().all(|byte| (0x20..0x7f).contains(byte));
    match std::str::from_utf8(&reason[..reason.len().min(MOST_TEXT)]) {
        Ok(text) if is_text && !text.is_empty() => format!("{name} \"{text}\""),
        _ => name.to_owned(),
    }
}
