//! Whole files and what they allow.

use proptest::prelude::*;

use super::*;

const BOT: &str = "MallaBot";

/// Each page with whether it may be fetched, and by whom.
fn check(file: &str, pages: &[(&str, &str, bool)]) {
    let robots = Robots::parse(file.as_bytes());
    for (agent, path, expected) in pages {
        assert_eq!(robots.allows(agent, path), *expected, "{agent} {path} in\n{file}");
    }
}

/// RFC 9309, section 5.1.
#[test]
fn the_simple_example_of_the_rfc() {
    let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
        User-Agent: quxbot\n";
    check(
        file,
        &[
            (BOT, "/", true),
            (BOT, "/a.gif", false),
            (BOT, "/a.gif?x", true),
            (BOT, "/example/page.html", false),
            (BOT, "/publications/example/", true),
            ("foobot", "/", false),
            ("foobot", "/example/page.html", true),
            ("FooBot/2.1", "/example/allowed.gif", true),
            ("foobot", "/publications/", false),
            ("barbot", "/example/page.html", false),
            ("BAZBOT", "/example/page.html", false),
            ("barbot", "/a.gif", true),
            ("quxbot", "/example/", true),
            ("quxbot", "/a.gif", true),
        ],
    );
}

/// RFC 9309, section 5.2.
#[test]
fn the_longest_match_of_the_rfc() {
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    check(file, &[("foobot", "/example/page/disallowed.gif", false), ("foobot", "/example/page/x", true)]);
}

#[test]
fn groups_of_one_agent_are_merged() {
    let file = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\n\
        allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n";
    check(
        file,
        &[
            ("FooBot", "/x/b", true),
            ("FooBot", "/z/d", true),
            ("FooBot", "/y/c", false),
            ("FooBot", "/foo/bar/", false),
            ("BarBot", "/y/c", true),
            ("BarBot", "/w/a", true),
            ("BarBot", "/z/d", false),
            ("BarBot", "/foo/bar/", false),
            ("BazBot", "/z/d", true),
            ("BazBot", "/foo/bar/", false),
            ("Another", "/anything", true),
        ],
    );
}

#[test]
fn other_lines_do_not_end_a_list_of_agents() {
    for between in ["Sitemap: https://example.org/map", "Noise: x", "", "# a comment", "Crawl-delay: 1", "\u{0}\u{7}"] {
        let file = format!("User-agent: MallaBot\n{between}\nUser-agent: *\nDisallow: /\n");
        check(&file, &[(BOT, "/x", false), ("Other", "/x", false)]);
    }
}

#[test]
fn an_agent_is_known_by_its_product_token() {
    for name in ["MallaBot", "mallabot", "MALLABOT/2.0", "MallaBot (for people)", "MallaBot;x", "  MallaBot  "] {
        check(
            &format!("User-agent: *\nDisallow: /\nUser-agent: {name}\nAllow: /\n"),
            &[(BOT, "/x", true), ("MallaBot/1.0 (+https://example.org)", "/x", true), ("Malla", "/x", false)],
        );
    }
    check("User-agent: Malla\nUser-agent: MallaBot2\nDisallow: /\n", &[(BOT, "/x", true)]);
    check("User-agent: * # all\nDisallow: /\n", &[(BOT, "/x", false), ("", "/x", false)]);
    check("User-agent: archive.org_bot\nDisallow: /\n", &[("archive.org_bot", "/x", false), ("archive", "/x", true)]);
}

#[test]
fn an_own_group_leaves_the_others_group_out() {
    check(
        "User-agent: *\nDisallow: /x\n\nUser-agent: MallaBot\nDisallow: /y\n",
        &[(BOT, "/x", true), (BOT, "/y", false)],
    );
    check("User-agent: MallaBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n", &[(BOT, "/x", true), ("O", "/x", false)]);
    check("User-agent: *\nDisallow: /\n\nUser-agent: MallaBot\n", &[(BOT, "/x", true), ("O", "/x", false)]);
}

#[test]
fn the_longest_rule_wins_and_allow_on_a_tie() {
    let all = |rules: &str, pages: &[(&str, bool)]| {
        let pages: Vec<_> = pages.iter().map(|(path, expected)| (BOT, *path, *expected)).collect();
        check(&format!("User-agent: *\n{rules}\n"), &pages);
    };
    all("Disallow: /x/page.html\nAllow: /x/", &[("/x/page.html", false), ("/x/", true), ("/x/page", true)]);
    all("Disallow: /x/\nAllow: /x/page.html", &[("/x/page.html", true), ("/x/", false)]);
    all("Disallow:\nAllow:", &[("/x", true)]);
    all("Disallow: /\nAllow: /", &[("/x", true)]);
    all("Allow: /\nDisallow: /", &[("/x", true)]);
    all("Disallow: /x\nAllow: /x/", &[("/x", false), ("/x/", true)]);
    all("Disallow: /page.html\nAllow: /page.html", &[("/page.html", true)]);
    all("Allow: /page\nDisallow: /*.html", &[("/page.html", false), ("/page", true)]);
    all("Allow: /x/page.\nDisallow: /*.html", &[("/x/page.html", true), ("/x/y.html", false)]);
    all("Allow: /folder\nDisallow: /fold", &[("/folder/page", true)]);
    all("Allow: /$\nDisallow: /", &[("/", true), ("/page", false), ("", true)]);
    all("Disallow: /ab%63\nAllow: /ab*", &[("/abc", true)]); // /abc and /ab* are four octets each
    all("Disallow: /a/b\nDisallow: ", &[("/a/b", false), ("/a", true)]);
}

#[test]
fn wildcards_and_ends() {
    check(
        "User-agent: *\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\nDisallow: /end$\nDisallow: /*?print=\n",
        &[
            (BOT, "/foo/bar/quz", false),
            (BOT, "/foo/quz", true),
            (BOT, "/foo//quz", true),
            (BOT, "/end", false),
            (BOT, "/end/", true),
            (BOT, "/end?x", true),
            (BOT, "/a/b?print=1", false),
            (BOT, "/a/b?x&print=1", true),
        ],
    );
}

#[test]
fn the_file_itself_is_always_allowed() {
    let file = "User-agent: *\nDisallow: /\n";
    check(file, &[(BOT, "/robots.txt", true), (BOT, "/robots.txt?x", true), (BOT, "/robots.txt/x", false)]);
}

#[test]
fn any_bytes_can_be_read() {
    let rules: &[&[u8]] = &[
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x",
        b"User-agent: *\rDisallow: /x\r",
        b"User-agent: *\r\n\r\nDisallow: /x\r\n",
        b"\xff\xfe\x00\nUser-agent: *\nDisallow: /x\n\x00\x00",
        b"user-agent:*\ndisallow:\t/x\t# comment \xff",
        b"<html>\nUser-agent: *\n<p>\nDisallow: /x\n",
        b"Disallow: /y\nUser-agent: *\nDisallow: /x\n",
    ];
    for file in rules {
        let robots = Robots::parse(file);
        assert!(!robots.allows(BOT, "/x") && robots.allows(BOT, "/y"), "{}", String::from_utf8_lossy(file));
    }
    let robots = Robots::parse(b"User-agent: *\nDisallow: /\xe9t\xe9\n");
    assert!(!robots.allows(BOT, "/%E9t%e9/x") && robots.allows(BOT, "/été"));
    assert_eq!(Robots::parse(b""), Robots::default());
}

#[test]
fn a_file_of_500_kib_is_read_and_no_more() {
    let head = "User-agent: *\nDisallow: /first\n";
    let last = "Disallow: /last\n";
    let filler = ROBOTS_BYTES_MAX - head.len() - last.len();
    let file = format!("{head}{}\n{last}Disallow: /beyond\n", "#".repeat(filler - 1));
    check(&file, &[(BOT, "/first", false), (BOT, "/last", false), (BOT, "/beyond", true)]);
    // One byte later the line does not fit, and half of it would refuse too much.
    let file = format!("{head}{}\n{last}", "#".repeat(filler + 4));
    check(&file, &[(BOT, "/first", false), (BOT, "/last", true), (BOT, "/", true)]);
}

/// Files that take long if a group's rules are copied, searched or tried more often than once.
#[test]
fn files_made_to_be_slow_are_not() {
    let many = |line: &str| line.repeat(ROBOTS_BYTES_MAX / 2 / line.len());
    let agents: String = (0..20_000).map(|n| format!("User-agent: a{n}\n")).collect();
    for file in [
        agents.clone() + &many("Disallow: /x\n"),
        agents + &many("Crawl-delay: 5\n"),
        many("User-agent: *\n") + &many("Disallow: /x\n"),
        many("User-agent: *\nDisallow: /x\n"),
        "User-agent: *\nDisallow: /x\n".to_owned() + &many("Disallow: *a*b\n"),
        "User-agent: *\nDisallow: /".to_owned() + &"*a".repeat(200_000),
    ] {
        let robots = Robots::parse(file.as_bytes());
        assert!(robots.allows(BOT, &("/".to_owned() + &"a".repeat(2_000))));
    }
}

#[test]
fn a_crawl_delay_is_its_groups() {
    let robots = Robots::parse(
        b"Crawl-delay: 9\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /x\n\nUser-agent: MallaBot\nDisallow: /y\n\
          Crawl-delay: 4\nCrawl-delay: soon\n\nUser-agent: mallabot\nCrawl-delay: 3\nDisallow:\n\n\
          User-agent: other\nDisallow: /\n",
    );
    for (agent, expected) in [(BOT, Some(4_000)), ("Someone", Some(2_500)), ("Other", None)] {
        assert_eq!(robots.crawl_delay_ms(agent), expected, "{agent}");
    }
}

#[test]
fn a_verdict_names_its_rule() {
    let robots = Robots::parse("User-agent: *\nDisallow: /privé*.html$\nAllow: /a\n".as_bytes());
    let verdict = |path| robots.verdict(BOT, path);
    let rule = |text: &str| Some(text.to_owned());
    assert_eq!(verdict("/privé/x.html"), Verdict { allowed: false, rule: rule("Disallow: /priv%C3%A9*.html$") });
    assert_eq!(verdict("/a/b"), Verdict { allowed: true, rule: rule("Allow: /a") });
    assert_eq!(verdict("/b"), Verdict { allowed: true, rule: None });
}

#[test]
fn an_answer_decides_what_a_site_allows_and_for_how_long() {
    const DAY_S: u64 = 86_400;
    for (status, body, allowed, kept_s) in [
        (200, "User-agent: *\nDisallow: /x\n", false, DAY_S),
        (200, "User-agent: *\nDisallow: /y\n", true, DAY_S),
        (200, "<html>hello</html>", true, DAY_S),
        (204, "", true, DAY_S),
        (301, "", true, DAY_S),
        (401, "Disallow: /", true, DAY_S),
        (403, "", true, DAY_S),
        (404, "User-agent: *\nDisallow: /\n", true, DAY_S),
        (410, "", true, DAY_S),
        (429, "", false, 600),
        (500, "", false, 600),
        (503, "User-agent: *\nAllow: /\n", false, 600),
        (NO_ANSWER, "", false, 600),
        (crate::NOT_ASKED, "", false, 600),
    ] {
        let standing = Standing::of_answer(status, body.as_bytes());
        assert_eq!(standing.verdict(BOT, "/x").allowed, allowed, "{status} {body}");
        assert_eq!(standing.kept_for(), Duration::from_secs(kept_s), "{status} {body}");
    }
    let standing = Standing::of_answer(200, b"User-agent: *\nCrawl-delay: 7\n");
    assert_eq!(standing.crawl_delay_ms(BOT), Some(7_000));
    assert_eq!(Standing::AllowAll.crawl_delay_ms(BOT), None);
}

/// Whether the path is allowed, rule by rule and without any order of their own.
fn allowed_slowly(rules: &[(bool, String)], path: &str) -> bool {
    let matching = rules.iter().filter(|(_, pattern)| {
        let file = format!("User-agent: *\nDisallow: {pattern}\n");
        !Robots::parse(file.as_bytes()).allows(BOT, path)
    });
    let longest: Vec<_> = matching.map(|(allow, pattern)| (pattern.len(), *allow)).collect();
    longest.iter().max().is_none_or(|(_, allow)| *allow)
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400), path in ".{0,40}") {
        let robots = Robots::parse(&bytes);
        prop_assert_eq!(robots.allows(BOT, &path), robots.verdict(BOT, &path).allowed);
    }

    #[test]
    fn no_lines_make_it_fail(
        lines in proptest::collection::vec("(User-agent|Allow|Disallow|Crawl-delay|x)? ?:? ?[a/*$%#0-9. \\x00é]{0,12}", 0..20),
        path in "/[a%/*$?2]{0,20}",
    ) {
        let robots = Robots::parse(lines.join("\n").as_bytes());
        prop_assert_eq!(robots.allows(BOT, &path), robots.verdict(BOT, &path).allowed);
    }

    #[test]
    fn the_order_of_rules_and_groups_means_nothing(
        rules in proptest::collection::vec((any::<bool>(), "/[ab*]{0,5}[$]?"), 0..8),
        path in "/[ab]{0,6}",
    ) {
        let line = |(allow, pattern): &(bool, String)| format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" });
        let in_order: String = rules.iter().map(line).collect();
        let groups: String = rules.iter().rev().map(|rule| format!("User-agent: MallaBot\n{}\n", line(rule))).collect();
        let expected = allowed_slowly(&rules, &path);
        prop_assert_eq!(Robots::parse(format!("User-agent: *\n{in_order}").as_bytes()).allows(BOT, &path), expected);
        prop_assert_eq!(Robots::parse(groups.as_bytes()).allows(BOT, &path), expected);
    }
}
