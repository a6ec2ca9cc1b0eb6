//! Histories through the client: a dump goes in, questions are answered.

use malla_protocol::{
    ArticleFilters, DiffKind, ExportQuery, Extract, ExtractionState, NewImport, PageQuery, PipelineQuery,
    RevisionFilters, Shown, WikiPageQuery,
};
use malla_wiki::dump::{Batches, Reader};
use serde_json::json;

use crate::server::Server;

fn batch() -> bytes::Bytes {
    let revision = |id: i64, at: &str, text: &str| {
        format!(
            "<revision><id>{id}</id><timestamp>{at}</timestamp><contributor><username>Ana</username><id>7</id>\
             </contributor><model>wikitext</model><format>text/x-wiki</format><text>{text}</text></revision>"
        )
    };
    let (one, two) = ("Earth is flat.", "Earth is round.");
    let revisions = [revision(1, "2018-03-09T12:00:00Z", one), revision(2, "2018-03-10T12:00:00Z", two)].concat();
    let page = format!("<page><title>Earth</title><ns>0</ns><id>9228</id>{revisions}</page>");
    let dump = format!("<mediawiki version=\"0.11\" xml:lang=\"en\">{page}</mediawiki>");
    let mut batches = Batches::new(Reader::new(std::io::Cursor::new(dump.into_bytes())));
    batches.next().unwrap().unwrap().encode().unwrap().into()
}

#[tokio::test]
async fn a_dump_goes_in_and_questions_are_answered() {
    let server = Server::start().await;
    let client = server.client();
    let new = NewImport { dump: "earth.xml".into(), name: Some("Test".into()), ..NewImport::default() };
    let import = client.begin_import(&new).await.unwrap();
    client.send_dump_batch(&import.id, 0, true, &batch()).await.unwrap();
    client.send_dump_batch(&import.id, 0, true, &batch()).await.unwrap();
    let import = client.import(&import.id).await.unwrap();
    assert_eq!((import.finished, import.batches, import.revisions), (true, 1, 2));
    assert_eq!(client.imports(&PageQuery::default()).await.unwrap().items, std::slice::from_ref(&import));

    let wiki = import.wiki;
    let title = || Some("Earth".to_owned());
    let filters = RevisionFilters { title: title(), ..RevisionFilters::default() };
    assert_eq!(client.count_revisions(&filters).await.unwrap().count, "2");
    let days = RevisionFilters {
        datestart: Some("2018-03-09".into()),
        dateend: Some("2018-03-12".into()),
        ..RevisionFilters::default()
    };
    assert_eq!(client.average_revisions(&days).await.unwrap().avg, "0.500000");
    assert_eq!(client.mode_of_revisions("user", &filters).await.unwrap(), json!({ "user": ["Ana"] }));
    let shown = Shown { sort: Some("desc".into()), page_size: Some(1), project: Some("revid".into()), page: None };
    assert_eq!(client.revisions(&filters, &shown).await.unwrap(), [json!({ "revid": 2 })]);
    let articles = ArticleFilters { title: title(), ..ArticleFilters::default() };
    assert_eq!(client.articles(&articles, &Shown::default()).await.unwrap().len(), 1);
    let pipeline = json!([{ "$match": { "title": "Earth" } }, { "$count": "n" }]);
    assert_eq!(client.query(&pipeline, &PipelineQuery::default()).await.unwrap(), [json!({ "n": 2 })]);

    assert_eq!(client.wikis(&PageQuery::default()).await.unwrap().items[0].id, wiki);
    assert_eq!(client.wiki(wiki).await.unwrap().wiki.name, "Test");
    let query = WikiPageQuery { title: title(), ..WikiPageQuery::default() };
    let page = client.wiki_pages(&query, &PageQuery::default()).await.unwrap().items.remove(0);
    assert!(!client.watch_page(wiki, page.pageid, false).await.unwrap().watched);
    assert!(!client.wiki_page(wiki, page.pageid).await.unwrap().watched);
    assert_eq!(client.page_metrics(wiki, page.pageid).await.unwrap()["revisions"], 2);
    assert_eq!(client.wiki_metrics(wiki).await.unwrap()["revisions"], 2);
    let export = client.export_page(wiki, page.pageid, &ExportQuery::default()).await.unwrap();
    assert_eq!(export.text().await.unwrap().lines().count(), 2);
    assert_eq!(client.revision(wiki, 2).await.unwrap().user.as_deref(), Some("Ana"));
    assert_eq!(client.revision_text(wiki, 2).await.unwrap(), b"Earth is round.");
    let diff = client.diff_revisions(wiki, 1, 2).await.unwrap();
    assert!(diff.pieces.iter().any(|piece| piece.kind == DiffKind::Added && piece.text.contains("round")), "{diff:?}");
}

#[tokio::test]
async fn an_extraction_is_asked_for_and_looked_at() {
    let server = Server::start().await;
    let client = server.client();
    let id = client.extract(&Extract { title: Some("Earth".into()), ..Extract::default() }).await.unwrap();
    let status = client.extraction(&id).await.unwrap();
    assert_eq!((status.extraction.state, status.extraction.asked.as_str()), (ExtractionState::Pending, "Earth"));
    assert_eq!(client.extractions(&PageQuery::default()).await.unwrap().items[0].id, id);
    let refused = client.extract(&Extract::default()).await.unwrap_err();
    assert!(refused.to_string().contains("nothing to extract"), "{refused}");
}
