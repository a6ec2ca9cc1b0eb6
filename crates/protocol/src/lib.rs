//! What travels over the API, for the server and its clients alike: the shapes of requests and answers, in JSON.
//!
//! No behaviour lives here and nothing of the server's rooms: other people's programs use this crate alone.

mod access;
mod analyze;
mod cluster;
mod fetch;
mod lane;
mod notify;
mod page;
mod problem;
mod task;
mod whole;
mod wiki;

pub use access::{
    AuditQuery, AuditView, GroupView, Health, Me, NewGroup, NewToken, NewUser, Role, TokenMade, TokenView, UserChange,
    UserView, Verification,
};
pub use analyze::{
    Analysis, AnalysisState, AnswerFormat, AnswerQuery, BadLine, BatchCounts, City, Complete, FarStation, GrownStation,
    NewAnalysis, Rain, RainyDay, TakenBatch, Year,
};
pub use cluster::{
    ClusterView, LeaderView, LoadView, MemberState, MemberView, NewestQuery, RestartView, RestartWhy, RoleView,
    RollingView, TermView,
};
pub use fetch::{
    BalanceView, BlockSite, BlockView, BlockedQuery, BlockedView, CheckQuery, CheckView, ClaimView, ComparedPlace,
    ComparedUrl, ComparisonReport, ComparisonView, CrawlChange, CrawlView, DEVICE_SECRET, DeviceChange, DeviceView,
    EntryView, FLEET_VERSION, FRAME_HEAD_BYTES_MAX, FetchPages, FetchQuery, FetchResult, Forgotten, Frame, FrameError,
    FrameReader, GiveBack, GivenBack, ItemView, JobState, JobView, JoinFleet, Joined, LeaseBlock, LedgerAudit,
    LeftAlone, Measures, NewComparison, NewCrawl, NewWatch, PageDiff, PageDiffQuery, PageVersion, ResultHead,
    ResultsTaken, RunView, SiteView, StandingView, StatementQuery, Tally, TopUp, WatchChange, WatchView,
};
pub use lane::{LaneChange, LaneQuery, LaneView};
pub use notify::{
    Accepted, AlertChange, AlertChannel, AlertChannelView, AlertRule, AlertTested, AlertView, Auth, AuthKind,
    CloudEvents, Condition, EndpointChange, EndpointView, EventDetail, EventQuery, EventTailQuery, EventView,
    MonthFigures, MqttSettings, MqttView, NewAlert, NewEndpoint, NewSubscription, NotificationDetail,
    NotificationQuery, NotificationTailQuery, NotificationView, Protocol, Statistics, StatisticsQuery,
    StatisticsSummary, Step, StepFigures, SubscriptionChange, SubscriptionMade, SubscriptionQuery, SubscriptionState,
    SubscriptionView,
};
pub use page::{LIMIT_DEFAULT, LIMIT_MAX, Page, PageQuery};
pub use problem::{Code, Problem};
pub use task::{
    AllQuery, Bulk, Counts, HistoryEntry, KindCounts, NewTask, Priority, StateCounts, SubmitTasks, Submitted,
    SubmittedTask, TaskDetail, TaskQuery, TaskState, TaskView,
};
pub use wiki::{
    ArticleFilters, AvgView, CountView, DiffKind, DiffPiece, DiffQuery, DiffView, ExportFormat, ExportQuery, Extract,
    ExtractionPlace, ExtractionState, ExtractionStatus, ExtractionView, ImportView, MetricsQuery, NewImport,
    PipelineQuery, RevisionFilters, RevisionView, Shown, TakeBatchQuery, WikiDetail, WikiPage, WikiPageChange,
    WikiPageQuery, WikiView,
};

/// The cookie that carries a console session.
pub const SESSION_COOKIE: &str = "malla_session";
/// A session's requests that change something carry the session's own word here.
pub const CSRF_HEADER: &str = "x-csrf-token";
/// Makes a repeated write harmless: the same key with the same request is carried out once.
pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";
/// Names a request in the answer, in the problem document and in the server's log.
pub const REQUEST_ID_HEADER: &str = "x-request-id";
