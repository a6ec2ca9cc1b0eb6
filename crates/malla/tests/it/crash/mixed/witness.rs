//! Who wrote as a leader, and when: a log in the store itself, written in the transactions of the leaders' duties.

use tokio_postgres::{Client, NoTls};

/// A write that was accepted: its term, and the moment by the store's own clock.
pub(super) type Write = (i64, i64);

/// Every statement of a session with a term leaves a line when it has passed the fence. The line stays if it commits.
const INSTALL: &str = "
    CREATE TABLE witness (term BIGINT NOT NULL, at_us BIGINT NOT NULL);
    CREATE FUNCTION witness() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('malla.term', true) <> '' THEN
            INSERT INTO witness (term, at_us)
            VALUES (current_setting('malla.term')::BIGINT, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT);
        END IF;
        RETURN NULL;
    END $$;
    DO $$
    DECLARE
        name TEXT;
    BEGIN
        FOR name IN SELECT tgrelid::REGCLASS::TEXT FROM pg_trigger WHERE tgname = 'fence' LOOP
            EXECUTE format(
                'CREATE TRIGGER witness AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT '
                'EXECUTE FUNCTION witness()', name
            );
        END LOOP;
    END $$;";

/// In a store that was made.
pub(super) async fn install(url: &str) {
    connect(url).await.batch_execute(INSTALL).await.expect("a witness");
}

/// In the order of time.
pub(super) async fn accepted(url: &str) -> Vec<Write> {
    let rows = connect(url).await.query("SELECT term, at_us FROM witness ORDER BY at_us", &[]).await;
    rows.expect("a log").iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the store answers");
    tokio::spawn(connection);
    client
}

/// Once a leader's write was accepted, none of an earlier leader ever was. Returns how many terms wrote something.
pub(super) fn one_at_a_time(writes: &[Write]) -> Result<usize, String> {
    let mut terms = 1;
    for pair in writes.windows(2) {
        let [(before, _), (after, at)] = pair else { continue };
        if after < before {
            return Err(format!("term {after} wrote at {at}, after term {before} had: two leaders"));
        }
        terms += usize::from(after > before);
    }
    if writes.is_empty() { Err("no leader wrote anything".into()) } else { Ok(terms) }
}

#[test]
fn two_leaders_are_noticed() {
    assert_eq!(one_at_a_time(&[(1, 10), (1, 20), (2, 30), (4, 40)]), Ok(3));
    one_at_a_time(&[(1, 10), (2, 20), (1, 30), (2, 40)]).expect_err("the first wrote after the second");
    one_at_a_time(&[]).expect_err("nothing is shown");
}
