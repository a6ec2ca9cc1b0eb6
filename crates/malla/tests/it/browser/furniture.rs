//! A house with something of everything in it, named by somebody who means harm.

use serde_json::json;

use super::house::House;
use crate::receiver::Receiver;
use crate::server::text;

/// What breaks out of texts, attributes, scripts and directions, where a page lets it.
pub(super) const HOSTILE: &str =
    "\"'><img src=x onerror=alert(1)><script>alert(2)</script><x-hostile onfocus=alert(3)>&lt;b&gt;\u{202e}live";
/// The same without what a header cannot hold.
const HOSTILE_HEADER: &str = "\"'><img src=x onerror=alert(1)><script>alert(2)</script><x-hostile>";

/// Settings under which nothing of it waits for long. The wiki that is asked does not answer.
pub(super) const QUICK: &[(&str, &str)] = &[
    ("MALLA_FETCH_GAP_MS", "0"),
    ("MALLA_WIKI_REVISIT", "off"),
    ("MALLA_WIKI_CONTACT", "https://malla.test/who"),
    ("MALLA_WIKI_API", "http://127.0.0.1:9/"),
];

/// Far sides that must stay while the pages are looked at.
pub(super) struct Neighbours {
    _shop: Receiver,
    _site: Receiver,
}

/// Names that a person gives must be plain; each has a digit in it, so that it is not taken for a page's.
pub(super) fn furnish(house: &House) -> Neighbours {
    people(house);
    let _shop = events(house);
    tasks(house);
    let _site = pages(house);
    tours(house, &_site);
    devices(house);
    histories(house);
    analyses(house);
    Neighbours { _shop, _site }
}

fn people(house: &House) {
    house.person("ana-1", "user", "ops-1");
    house.person("ben-1", "readonly", "ops-1");
    house.make("tokens", json!({ "name": "deploy-1", "group": "ops-1" }));
    // What gives a name to an address cannot be hostile at all.
    for (what, body) in [
        ("users", json!({ "name": HOSTILE, "role": "user" })),
        ("groups", json!({ "name": HOSTILE })),
        ("tokens", json!({ "name": HOSTILE })),
        ("endpoints", json!({ "name": HOSTILE })),
        ("subscriptions", json!({ "name": HOSTILE, "endpoint": "system", "target": "http://127.0.0.1:9/" })),
        ("alerts", json!({ "name": HOSTILE, "rule": { "kind": "stuck", "for_s": 60 }, "to": [] })),
    ] {
        let (status, answer) = house.desk.call("POST", &format!("/api/v1/{what}"), Some(&body));
        assert!((400..500).contains(&status), "{what} {status} {answer}");
    }
}

fn events(house: &House) -> Receiver {
    let answer = format!("500 Oops\r\nx-reason: {HOSTILE_HEADER}\r\ncontent-type: text/html\r\n\r\n{HOSTILE}");
    let shop = Receiver::answering(move |_, _| answer.clone());
    house.make("endpoints", json!({ "name": "orders-1", "group": "ops-1", "description": HOSTILE }));
    let asks = json!({
        "group": "ops-1", "retry_delays_s": [], "forward_headers": true, "headers": { "x-sent": HOSTILE_HEADER },
        "auth": { "basic": { "username": HOSTILE, "password": "secret" } },
        "filter": [{ "field": HOSTILE, "equals": format!("{HOSTILE}!"), "not": true }],
    });
    house.desk.subscribe("shop-1", "orders-1", &shop.url_of(&format!("/?q={HOSTILE}")), asks);
    let rule = json!({ "kind": "failures", "count": 1, "window_s": 600 });
    let to = json!([{ "kind": "webhook", "url": shop.url_of(&format!("/?q={HOSTILE}")) }]);
    house.make("alerts", json!({ "name": "alert-1", "rule": rule, "to": to }));
    let post = reqwest::Client::new().post(format!("{}/in/orders-1", house.desk.url));
    let post = post.query(&[("q", HOSTILE), (HOSTILE, "x")]).header("x-hostile", HOSTILE_HEADER);
    let post = post.header("content-type", format!("text/html; x={HOSTILE_HEADER}"));
    for body in [HOSTILE.to_owned(), json!({ HOSTILE: HOSTILE }).to_string()] {
        let (status, answer) = house.desk.send(post.try_clone().expect("without a body").body(body));
        assert_eq!(status, 200, "{answer}");
    }
    house.desk.wait_for("subscription=shop-1&state=failed", 2);
    shop
}

fn tasks(house: &House) {
    let lane = format!("drill/{HOSTILE}");
    for payload in [json!({ "fail": 9 }), json!({})] {
        let id = house.task(json!({ "lane": lane, "kind": "drill", "group": "ops-1", "payload": payload }));
        house.server.wait_for_state(&id, &["succeeded", "failed"]);
    }
    let paused = house.task(json!({ "lane": "drill/paused-1", "kind": "drill", "payload": { "work_ms": 60_000 } }));
    house.server.ok(&["lanes", "pause", "drill/paused-1"]);
    house.server.ok(&["tasks", "show", &paused]);
}

/// A site whose every answer is hostile.
fn pages(house: &House) -> Receiver {
    let html = format!("<html><title>{HOSTILE}</title><body><a href='/{HOSTILE}'>{HOSTILE}</a></body></html>");
    let robots = format!("User-agent: *\nDisallow: /{HOSTILE}\nUser-agent: {HOSTILE}\nDisallow: /\nCrawl-delay: 0\n");
    let site = Receiver::answering(move |n, asked| match asked.path.as_str() {
        "/robots.txt" => format!("200 OK\r\ncontent-type: text/plain\r\n\r\n{robots}"),
        "/moved" => format!("302 Found\r\nlocation: /there?q={HOSTILE_HEADER}"),
        "/news" => {
            format!("200 OK\r\ncontent-type: text/html\r\n\r\n<p>visit {n}</p><p>&lt;x-hostile&gt; {HOSTILE}</p>")
        }
        _ => format!("200 OK\r\ncontent-type: text/html\r\nx-hostile: {HOSTILE_HEADER}\r\n\r\n{html}"),
    });
    let urls = [
        site.url_of("/page"),
        site.url_of("/moved"),
        site.url_of(&format!("/{HOSTILE}")),
        HOSTILE.to_owned(),
        format!("http://{HOSTILE}/"),
    ];
    let job = house.make("fetch", json!({ "urls": urls, "group": "ops-1" }));
    let job = job["id"].as_str().expect("an id");
    let over = crate::server::poll_until(std::time::Instant::now() + crate::server::DEADLINE, || {
        let told = house.desk.ok("GET", &format!("/api/v1/fetch/{job}"), None);
        (told["done"] == told["total"]).then_some(())
    });
    assert!(over.is_some(), "{}", house.desk.ok("GET", &format!("/api/v1/fetch/{job}"), None));
    site
}

/// A crawl of the site, a watch of a page that is never the same, and a comparison for which nobody is there.
fn tours(house: &House, site: &Receiver) {
    let crawl = house.make("crawls", json!({ "seeds": [site.url_of("/page")], "limit": 3, "group": "ops-1" }));
    let watch = json!({
        "url": site.url_of("/news"), "ignore": [HOSTILE.replace(['(', ')'], "")], "interval_min_s": 1, "interval_max_s": 1,
        "group": "ops-1",
    });
    let watch = house.make("watches", watch);
    let places = json!({ "urls": [site.url_of("/page")], "countries": ["AR", "DE"], "wait_s": 1, "wait": false, "group": "ops-1" });
    let comparison = house.make("fetch/compare", places);
    let wait = |path: String, over: fn(&serde_json::Value) -> bool| {
        let told = crate::server::poll_until(std::time::Instant::now() + crate::server::DEADLINE, || {
            Some(house.desk.ok("GET", &path, None)).filter(over)
        });
        assert!(told.is_some(), "{path}: {}", house.desk.ok("GET", &path, None));
    };
    let id = |made: &serde_json::Value| made["id"].as_str().expect("an id").to_owned();
    wait(format!("/api/v1/crawls/{}", id(&crawl)), |told| told["state"] == "done");
    wait(format!("/api/v1/watches/{}", id(&watch)), |told| told["version"].as_u64() >= Some(2));
    wait(format!("/api/v1/comparisons/{}", id(&comparison)), |told| told["rounds"] == 1);
    house.desk.ok("PATCH", &format!("/api/v1/watches/{}", id(&watch)), Some(json!({ "state": "paused" })));
}

fn devices(house: &House) {
    let short: String = HOSTILE.chars().take(110).collect();
    let device =
        json!({ "version": 1, "name": short, "system": short, "program": short, "hostname": short, "country": "DE" });
    house.make("fleet/join", device);
}

fn histories(house: &House) {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let hostile = escape(HOSTILE);
    let mut dump = format!(
        r#"<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en"><siteinfo><sitename>{hostile}</sitename></siteinfo>"#
    );
    for (page, title) in [(1, hostile.as_str()), (2, "Mesh")] {
        dump += &format!("<page><title>{title}</title><ns>0</ns><id>{page}</id>");
        for n in 1..=30 {
            let (revision, day, user) = (page * 100 + n, n % 28 + 1, n % 4);
            dump += &format!(
                r#"<revision><id>{revision}</id><timestamp>2015-{month:02}-{day:02}T{hour:02}:00:00Z</timestamp><contributor><username>{hostile} {user}</username><id>{user}</id></contributor><comment>{hostile}</comment><model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{hostile} {lines}</text></revision>"#,
                month = n % 12 + 1,
                hour = n % 24,
                lines = format!("line of {n}\n").repeat(n),
            );
        }
        dump += "</page>";
    }
    dump += "</mediawiki>";
    std::fs::write(house.place.root().join("dump.xml"), dump).expect("written");
    house.server.ok(&["wiki", "import", "dump.xml", "--name", HOSTILE, "--locale", "en", "--group", "ops-1"]);
    let ask = reqwest::Client::new().get(format!("{}/api/v1/extract", house.desk.url)).bearer_auth(house.token());
    let (status, answer) = house.desk.send(ask.query(&[("url", format!("http://127.0.0.1:9/wiki/{HOSTILE}"))]));
    assert_eq!(status, 202, "{answer}");
}

fn analyses(house: &House) {
    let city = house.place.root().join("set/montreal");
    std::fs::create_dir_all(&city).expect("made");
    let quoted = HOSTILE.replace('"', "\"\"");
    let mut trips =
        "start_date,start_station_code,end_date,end_station_code,duration_sec,is_member,yearid\n".to_owned();
    for (year, count) in [(2016, 2), (2017, 6)] {
        for n in 0..count {
            trips += &format!("{year}-03-0{day} 10:00:00,1,{year}-03-0{day} 10:30:00,2,{n}00,1,{year}\n", day = n + 1);
        }
    }
    let stations: String = [2016, 2017]
        .map(|year| format!("1,\"{quoted}\",45.50,-73.60,{year}\n2,\"{quoted} far away\",45.70,-73.60,{year}\n"))
        .concat();
    let weather: String = (1..=9).map(|day| format!("2016-03-0{day},40\n2017-03-0{day},40\n")).collect();
    for (name, content) in [
        ("trips", trips),
        ("stations", format!("code,name,latitude,longitude,yearid\n{stations}")),
        ("weather", format!("date,prectot\n{weather}")),
    ] {
        std::fs::write(city.join(format!("{name}.csv")), content).expect("written");
    }
    let answers = house.server.run(&["bikes", "set", "--json"]);
    assert!(answers.status.success(), "{}", text(&answers.stderr));
    assert!(text(&answers.stdout).contains("far away"), "hostile stations are in the answers");
    let summary = house.make("analyses", json!({ "kind": "csv-summary" }))["id"].as_str().expect("an id").to_owned();
    let batch = format!("{}/api/v1/analyses/{summary}/rows/{}/0", house.desk.url, "city-1");
    let put = reqwest::Client::new().put(batch).bearer_auth(house.token());
    let (status, answer) = house.desk.send(put.body(format!("\"{quoted}\",n\n\"{quoted}\",1\n\"{quoted}\",2\n")));
    assert_eq!(status, 204, "{answer}");
    house.desk.ok("POST", &format!("/api/v1/analyses/{summary}/complete"), Some(json!({ "batches": 1 })));
}
