//! Parts of URLs: host, extension, redirect targets.

/// The host in lower case, with a port other than the default.
pub(super) fn host(url: &str) -> String {
    let normal = normal(url);
    normal.split("://").nth(1).map_or(String::new(), |rest| authority(rest).to_owned())
}

/// Normalised URL: scheme and host in lower case, no default port, no fragment, at least a slash as
/// path.
pub(super) fn normal(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let authority_part = authority(rest);
    let path = &rest[authority_part.len()..];
    let host = authority_part.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(default_port).unwrap_or(&host);
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://{host}{slash}{path}")
}

/// Resolves a redirect at `base` to `target` (RFC 3986 s5.2, without dot segments).
pub(super) fn resolve(base: &str, target: &str) -> String {
    if has_scheme(target) {
        return target.to_owned();
    }
    let Some((scheme, rest)) = base.split_once("://") else { return target.to_owned() };
    if target.starts_with("//") {
        return format!("{scheme}:{target}");
    }
    let host = authority(rest);
    if target.starts_with('/') {
        return format!("{scheme}://{host}{target}");
    }
    let path = without_query(&rest[host.len()..]);
    if target.starts_with('?') {
        return format!("{scheme}://{host}{path}{target}");
    }
    let folder = path.rfind('/').map_or("/", |end| &path[..=end]);
    format!("{scheme}://{host}{folder}{target}")
}

/// Whether it begins with a scheme and an authority (RFC 3986 s3): a query may have another URL.
fn has_scheme(target: &str) -> bool {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    target.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// The URL up to its query.
pub(super) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// The text after the last dot of the last path segment, in lower case.
pub(super) fn extension(url: &str) -> String {
    let file = without_query(url).rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_ascii_lowercase())
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regressions: a relative target with a URL in its query was taken for absolute, and a target
    /// that is a query lost the file of its base.
    #[test]
    fn query_of_a_redirect_does_not_make_it_absolute() {
        let resolved = |target: &str| resolve("https://a.org/x/y?q=1", target);
        assert_eq!(resolved("/c?n=https://b.org/"), "https://a.org/c?n=https://b.org/");
        assert_eq!(resolved("d?n=https://b.org/"), "https://a.org/x/d?n=https://b.org/");
        assert_eq!(resolved("?p=2"), "https://a.org/x/y?p=2");
        assert_eq!(resolved("HTTP://b.org/"), "HTTP://b.org/");
    }

    #[test]
    fn hosts_are_compared_without_case_and_default_port() {
        assert_eq!(host("HTTPS://Www.Example.org:443/a?b#c"), "www.example.org");
        assert_eq!(host("http://example.org:8080"), "example.org:8080");
        assert_eq!(host("http://user@example.org?x"), "example.org");
        assert_eq!(host("nonsense"), "");
        assert_eq!(normal("https://a.org:443"), normal("https://a.org/#top"));
    }

    #[test]
    fn redirects_are_resolved() {
        let base = "https://a.org/x/y?z=/1";
        assert_eq!(resolve(base, "http://b.org/"), "http://b.org/");
        assert_eq!(resolve(base, "//b.org/c"), "https://b.org/c");
        assert_eq!(resolve(base, "/c"), "https://a.org/c");
        assert_eq!(resolve(base, "c"), "https://a.org/x/c");
        assert_eq!(resolve("https://a.org", "c"), "https://a.org/c");
    }

    #[test]
    fn extension_is_of_the_file() {
        assert_eq!(extension("http://a.org/b.c/d.PNG?e=f.js"), "png");
        assert_eq!(extension("http://a.org/b.c/d"), "");
    }
}
