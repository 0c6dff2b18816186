use super::*;

const BODY_MAX: usize = 64;

fn own() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 3030))
}

/// What is made of these bytes, after which the peer sends no more; and what it was told meanwhile.
async fn said(bytes: &str) -> (Option<Result<Request, Refused>>, String) {
    let (mut near, far) = tokio::io::duplex(64 * 1024);
    near.write_all(bytes.as_bytes()).await.unwrap();
    near.shutdown().await.unwrap();
    let mut far: BoxStream = Box::new(far);
    let request = read(&mut far, own(), BODY_MAX).await;
    drop(far);
    let mut told = String::new();
    near.read_to_string(&mut told).await.unwrap();
    (request, told)
}

async fn taken(bytes: &str) -> Request {
    said(bytes).await.0.unwrap().unwrap()
}

#[tokio::test]
async fn a_request_is_read_with_its_path_query_and_body() {
    let request =
        taken("POST /logs/a%2Fb%20c?limit=3&x HTTP/1.1\r\nHost: localhost:3030\r\nContent-Length: 2\r\n\r\n{}more")
            .await;
    assert_eq!((request.method.as_str(), request.path()), ("POST", vec!["logs", "a/b c"]));
    assert_eq!((request.body.as_slice(), request.number("limit"), request.number("x")), (&b"{}"[..], Some(3), None));
    let request = taken("GET /logs HTTP/1.1\r\nhost: [::1]\r\n\r\n").await;
    assert_eq!((request.path(), request.number("limit")), (vec!["logs"], None));
}

#[tokio::test]
async fn who_waits_for_a_word_before_the_body_gets_it() {
    let (request, told) =
        said("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").await;
    assert_eq!((request, told.as_str()), (None, "HTTP/1.1 100 Continue\r\n\r\n"));
    let whole = "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(said(whole).await.1, "", "it did not wait");
}

#[tokio::test]
async fn what_is_not_a_request_of_this_machines_programs_is_refused() {
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(COMPANION_HEADERS_MAX + 1));
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(COMPANION_HEAD_MAX_BYTES));
    let large = format!("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1);
    let endless = format!("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", "9".repeat(40));
    for (bytes, refused) in [
        ("nonsense\r\n\r\n", Refused::NotHttp),
        ("GET /logs HTTP/1.1\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: evil.example\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", Refused::FromAPage),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3030\r\n\r\n", Refused::FromAPage),
        ("GET http://localhost/logs HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%4 HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%+1 HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\n\r\n{}", Refused::NoLength),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", Refused::NoLength),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", Refused::NotHttp),
        (
            "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            Refused::NotHttp,
        ),
        (&large, Refused::BodyTooLarge),
        (&endless, Refused::BodyTooLarge),
        (&many, Refused::HeadTooLarge),
        (&long, Refused::HeadTooLarge),
    ] {
        let (request, _) = said(bytes).await;
        assert_eq!(request, Some(Err(refused)), "{bytes:.200}");
        assert!((400..=431).contains(&refused.reply().status), "{refused:?}");
    }
}

#[tokio::test]
async fn a_peer_that_goes_before_it_has_said_all_is_owed_nothing() {
    let whole = "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    for cut in 0..whole.len() {
        assert_eq!(said(&whole[..cut]).await.0, None, "cut at {cut}");
    }
    assert!(said(whole).await.0.unwrap().is_ok());
}
