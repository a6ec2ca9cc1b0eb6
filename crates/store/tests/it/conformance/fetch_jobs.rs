//! Jobs: what is asked for, and the answers as they come.

use std::collections::HashSet;
use std::time::Duration;

use malla_fetch::{JobId, NOT_ASKED, NewDevice, NewJob, PageTask, TroubleKind};
use malla_queue::{Act, Error, Once, Scope, TaskFilter};

use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{new_device, new_job, task_of, url, urls_of};

on_both_stores!(
    each_url_of_a_job_is_answered_once_in_the_order_of_arrival,
    a_url_that_waits_already_is_not_queued_twice_and_all_get_the_one_answer,
    a_url_that_is_being_fetched_is_not_queued_again,
    the_same_url_twice_in_a_job_gets_two_answers,
    what_is_refused_is_answered_at_once_with_the_reason,
    a_refused_url_may_hold_any_character,
    a_job_that_is_empty_or_too_long_is_refused,
    more_than_may_wait_is_refused_whole,
    what_waits_already_or_is_in_the_cache_needs_no_room,
    a_repeated_key_gets_the_first_job,
    who_waits_for_answers_is_roused,
    a_cancelled_job_gets_no_more_answers_and_others_get_theirs,
    nobody_waits_for_the_task_of_a_cancelled_job,
    a_job_that_is_over_stays_as_it_is_when_cancelled,
    jobs_are_listed_by_page_and_group,
    answers_are_read_on_from_where_one_was,
    jobs_that_ask_at_the_same_time_share_their_tasks,
    a_group_with_jobs_or_devices_is_not_deleted,
    a_job_of_ten_thousand_urls_is_taken_in,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const C: &str = "https://c.example/3";

async fn each_url_of_a_job_is_answered_once_in_the_order_of_arrival(house: House) {
    let job = house.ask(&[A, B, C]).await;
    assert_eq!((job.total, job.done, job.finished_at), (3, 0, None));
    let leased = house.lease_pages().await;
    assert_eq!(leased.len(), 3);
    for wanted in [C, A, B] {
        let leased = leased.iter().find(|leased| task_of(leased).url.as_str() == wanted).unwrap();
        house.wait(Duration::from_secs(1));
        house.settle(house.found(leased, &format!("page {wanted}"))).await;
    }
    let answers = house.answers(job.id).await;
    assert_eq!(
        answers.iter().map(|answer| (answer.n, answer.url.as_str())).collect::<Vec<_>>(),
        [(1, C), (2, A), (3, B)]
    );
    let first = &answers[0];
    assert_eq!((first.page.url.as_str(), first.page.status, first.from_cache), (C, 200, false));
    assert_eq!((first.page.took_ms, first.page.device.as_deref()), (20, Some("pi")));
    assert_eq!(first.page.headers, [("content-type".to_owned(), "text/html".to_owned())]);
    let job = house.job(job.id).await;
    assert_eq!((job.done, job.good, job.cached), (3, 3, 0));
    assert!(job.is_over() && job.finished_at == Some(answers[2].page.fetched_at));
    house.verify().await;
}

async fn a_url_that_waits_already_is_not_queued_twice_and_all_get_the_one_answer(house: House) {
    let first = house.ask(&[A, B]).await;
    let second = house.ask(&["HTTPS://A.example:443/1#top"]).await;
    let leased = house.lease_pages().await;
    assert_eq!(urls_of(&leased), [A, B]);
    house.commit(leased.iter().map(|leased| house.found(leased, "hello")).collect()).await;
    let (first, second) = (house.answers(first.id).await, house.answers(second.id).await);
    assert_eq!((first.len(), second.len()), (2, 1));
    assert_eq!(first[0].page, second[0].page);
    house.verify().await;
}

async fn a_url_that_is_being_fetched_is_not_queued_again(house: House) {
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let late = house.ask(&[A]).await;
    assert!(house.lease_pages().await.is_empty());
    house.settle(house.found(&leased, "hello")).await;
    assert_eq!(house.texts(late.id).await, [(A.into(), "hello".into())]);
}

async fn the_same_url_twice_in_a_job_gets_two_answers(house: House) {
    let job = house.ask(&[A, B, A]).await;
    let leased = house.lease_pages().await;
    assert_eq!(urls_of(&leased), [A, B]);
    house.settle(house.found(&leased[0], "hello")).await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into()), (A.into(), "hello".into())]);
    assert_eq!((house.job(job.id).await.done, house.job(job.id).await.is_over()), (2, false));
    house.settle(house.found(&leased[1], "hello")).await;
    assert!(house.job(job.id).await.is_over());
    house.verify().await;
}

async fn what_is_refused_is_answered_at_once_with_the_reason(house: House) {
    let job = house.ask(&["ftp://a.example/", A, "nonsense"]).await;
    assert_eq!((job.total, job.done, job.good, job.finished_at), (3, 2, 0, None));
    let answers = house.answers(job.id).await;
    let trouble = answers[0].page.trouble.as_ref().unwrap();
    assert_eq!((answers[0].n, answers[0].url.as_str(), answers[0].page.status), (1, "ftp://a.example/", NOT_ASKED));
    assert_eq!(
        (trouble.what, trouble.note.as_str()),
        (TroubleKind::Refused, "only http and https are fetched, not ftp")
    );
    assert_eq!((answers[1].n, answers[1].url.as_str()), (2, "nonsense"));
    let refused = house.ask(&["nonsense"]).await;
    assert!(refused.is_over() && refused.finished_at.is_some());
    house.verify().await;
}

async fn a_refused_url_may_hold_any_character(house: House) {
    let job = house.ask(&["no\u{0}url", "no \u{1f41b}\\\"{}"]).await;
    let answers = house.answers(job.id).await;
    let urls: Vec<_> = answers.iter().map(|answer| answer.url.as_str()).collect();
    assert_eq!(urls, ["no\u{fffd}url", "no \u{1f41b}\\\"{}"]);
}

async fn a_job_that_is_empty_or_too_long_is_refused(house: House) {
    let many = vec!["nonsense"; 10_001];
    for (urls, said) in [(&[][..], "at least one URL"), (&many[..], "at most 10000 URLs")] {
        let Err(Error::Invalid(why)) = house.fetch.ask(new_job(urls), act("fetch.ask")).await else { panic!("taken") };
        assert!(why.contains(said), "{why}");
    }
}

async fn more_than_may_wait_is_refused_whole(house: House) {
    house.ask(&[A]).await;
    let small = NewJob { pending_max: 2, ..new_job(&["nonsense", B, C]) };
    let refused = house.fetch.ask(small.clone(), act("fetch.ask")).await;
    assert_eq!(refused, Err(Error::Full { waiting: 1, limit: 2 }));
    assert_eq!(house.fetch.jobs(&Scope::All, None, 9).await.unwrap().len(), 1);
    assert_eq!(urls_of(&house.lease_pages().await), [A]);
    assert!(house.queue.lane(&Scope::All, &url(B).site().lane()).await.is_err());
    let fits = house.ask_for(NewJob { pending_max: 3, ..small }).await;
    assert_eq!((fits.total, fits.done), (3, 1));
    house.verify().await;
}

async fn what_waits_already_or_is_in_the_cache_needs_no_room(house: House) {
    house.cache(A, "hello").await;
    house.ask(&[B]).await;
    let job = house.ask_for(NewJob { pending_max: 1, ..new_job(&[A, B, B]) }).await;
    assert_eq!((job.total, job.done), (3, 1));
}

async fn a_repeated_key_gets_the_first_job(house: House) {
    let once =
        Once { scope: "user:ana".into(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(3_600) };
    let act = Act { once: Some(once), ..act("fetch.ask") };
    let first = house.fetch.ask(new_job(&[A]), act.clone()).await.unwrap();
    house.fetch_all("hello").await;
    assert_eq!(house.fetch.ask(new_job(&[A]), act).await.unwrap(), first);
    assert_eq!(house.fetch.jobs(&Scope::All, None, 9).await.unwrap().len(), 1);
}

async fn who_waits_for_answers_is_roused(house: House) {
    let mut answered = house.fetch.answered();
    let waits = |mut answered: malla_queue::Arrivals| async move {
        tokio::time::timeout(Duration::from_secs(10), answered.changed()).await.expect("roused").unwrap();
    };
    house.ask(&[A]).await;
    // On a shared store everybody is roused once when the connection that listens is made.
    answered.mark_unchanged();
    let roused = tokio::spawn(waits(answered.clone()));
    house.fetch_all("hello").await;
    roused.await.unwrap();
    answered.mark_unchanged();
    let roused = tokio::spawn(waits(answered));
    house.ask(&["nonsense"]).await;
    roused.await.unwrap();
}

async fn a_cancelled_job_gets_no_more_answers_and_others_get_theirs(house: House) {
    let (cancelled, other) = (house.ask(&[A, B]).await, house.ask(&[B]).await);
    let leased = house.lease_pages().await;
    house.settle(house.found(&leased[0], "hello")).await;
    let job = house.fetch.cancel(&Scope::All, cancelled.id, act("fetch.cancel")).await.unwrap();
    assert!(job.cancelled && job.is_over() && job.finished_at.is_some());
    assert_eq!((job.total, job.done), (2, 1));
    house.settle(house.found(&leased[1], "hello")).await;
    assert_eq!((house.answers(cancelled.id).await.len(), house.answers(other.id).await.len()), (1, 1));
    assert_eq!(house.job(cancelled.id).await, job);
    house.verify().await;
}

async fn nobody_waits_for_the_task_of_a_cancelled_job(house: House) {
    let job = house.ask(&[A, B]).await;
    house.ask(&[B]).await;
    let leased = house.lease_pages().await;
    let tokens: Vec<_> = leased.iter().map(|leased| leased.token).collect();
    assert_eq!(house.fetch.wanted(&tokens).await.unwrap(), tokens);
    house.fetch.cancel(&Scope::All, job.id, act("fetch.cancel")).await.unwrap();
    assert_eq!(house.fetch.wanted(&tokens).await.unwrap(), [tokens[1]]);
    // Where it leads does not matter any more either.
    let to = PageTask::new(url(C));
    house.settle(house.settled(&leased[0], malla_fetch::Settlement::Moved { to })).await;
    let lane = TaskFilter { lane: Some(url(C).site().lane()), ..TaskFilter::all(Scope::All) };
    assert!(house.ids(&lane).await.is_empty());
    house.verify().await;
}

async fn a_job_that_is_over_stays_as_it_is_when_cancelled(house: House) {
    let job = house.ask(&[A]).await;
    house.fetch_all("hello").await;
    let over = house.job(job.id).await;
    house.wait(Duration::from_secs(5));
    assert_eq!(house.fetch.cancel(&Scope::All, job.id, act("fetch.cancel")).await.unwrap(), over);
    let nobody = JobId(malla_queue::TaskId(7));
    let missing = house.fetch.cancel(&Scope::All, nobody, act("fetch.cancel")).await;
    assert_eq!(missing, Err(Error::NotFound(format!("job {nobody}"))));
}

async fn jobs_are_listed_by_page_and_group(house: House) {
    let (sales, press) = (house.group("sales").await, house.group("press").await);
    let mut ids = Vec::new();
    for group in [sales, press, sales, press, sales] {
        ids.push(house.ask_as(group, &[A]).await.id);
        house.wait(Duration::from_millis(1));
    }
    let page = async |scope: &Scope, below| {
        let jobs = house.fetch.jobs(scope, below, 2).await.unwrap();
        jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(page(&Scope::All, None).await, [ids[4], ids[3]]);
    assert_eq!(page(&Scope::All, Some(ids[3])).await, [ids[2], ids[1]]);
    let sales = Scope::Groups(vec![sales]);
    assert_eq!(page(&sales, None).await, [ids[4], ids[2]]);
    assert_eq!(page(&sales, Some(ids[2])).await, [ids[0]]);
    assert!(page(&Scope::Groups(Vec::new()), None).await.is_empty());
    let hidden = house.fetch.job(&sales, ids[1]).await;
    assert_eq!(hidden, Err(Error::NotFound(format!("job {}", ids[1]))));
    let hidden = house.fetch.cancel(&sales, ids[1], act("fetch.cancel")).await;
    assert_eq!(hidden, Err(Error::NotFound(format!("job {}", ids[1]))));
    assert_eq!(house.fetch.job(&sales, ids[0]).await.unwrap().id, ids[0]);
}

async fn answers_are_read_on_from_where_one_was(house: House) {
    let job = house.ask(&["x1", "x2", "x3", A]).await;
    let page = async |after| {
        let answers = house.fetch.answers(job.id, after, 2).await.unwrap();
        answers.into_iter().map(|answer| (answer.n, answer.url)).collect::<Vec<_>>()
    };
    assert_eq!(page(0).await, [(1, "x1".into()), (2, "x2".into())]);
    assert_eq!(page(2).await, [(3, "x3".into())]);
    assert!(page(3).await.is_empty());
    house.fetch_all("hello").await;
    assert_eq!(page(3).await, [(4, A.into())]);
}

async fn jobs_that_ask_at_the_same_time_share_their_tasks(house: House) {
    let urls: Vec<String> = (0..20).map(|n| format!("https://s{}.example/{n}", n % 4)).collect();
    let forwards: Vec<&str> = urls.iter().map(String::as_str).collect();
    let backwards: Vec<&str> = forwards.iter().rev().copied().collect();
    let ask = |n: usize| house.ask(if n.is_multiple_of(2) { &forwards } else { &backwards });
    let (a, b, c, d, e, f) = tokio::join!(ask(0), ask(1), ask(2), ask(3), ask(4), ask(5));
    assert_eq!(house.lease_pages().await.len(), 20);
    house.wait(crate::harness::LEASE);
    house.queue.reap(100).await.unwrap();
    house.fetch_all("hello").await;
    for job in [a, b, c, d, e, f] {
        let told: HashSet<String> = house.texts(job.id).await.into_iter().map(|(url, _)| url).collect();
        assert_eq!((told.len(), house.job(job.id).await.is_over()), (20, true));
    }
    house.verify().await;
}

async fn a_group_with_jobs_or_devices_is_not_deleted(house: House) {
    let (sales, press) = (house.group("sales").await, house.group("press").await);
    house.ask_as(sales, &[A]).await;
    house.fetch.join(NewDevice { group: Some(press), ..new_device("ana", "pi") }).await.unwrap();
    for (name, what) in [("sales", "fetch jobs"), ("press", "devices")] {
        let Err(Error::Taken(why)) = house.access.delete_group(name, act("group.delete")).await else { panic!("gone") };
        assert!(why.contains(what), "{why}");
    }
}

async fn a_job_of_ten_thousand_urls_is_taken_in(house: House) {
    let urls: Vec<String> = (0..10_000).map(|n| format!("https://s{}.example/{n}", n % 1_000)).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let job = house.ask(&urls).await;
    assert_eq!((job.total, job.done), (10_000, 0));
    let leased = house.lease_pages().await;
    assert_eq!(leased.len(), 1_000);
    let settled = leased.iter().take(256).map(|leased| house.found(leased, &task_of(leased).url.to_string())).collect();
    assert!(house.commit(settled).await.iter().all(Result::is_ok));
    let texts = house.texts(job.id).await;
    assert!(texts.len() == 256 && texts.iter().all(|(url, text)| url == text));
    house.verify().await;
}
