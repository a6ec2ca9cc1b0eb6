//! The API's own description: `/openapi.json`, and `/docs` to browse it.

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, Response};
use axum::middleware::{Next, from_fn};
use malla_access::{Permission, Role};
use malla_protocol::{CSRF_HEADER, IDEMPOTENCY_HEADER, Problem, SESSION_COOKIE};
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, RefOr, Required, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::App;
use crate::problem::PROBLEM_JSON;

/// Where an operation states the permission it needs. An operation without it is open to all.
pub(crate) const PERMISSION: &str = "x-permission";

/// Stated by the routes that only devices of the fleet may call.
const DEVICE: &str = "device";

/// Nothing from elsewhere, no inline script. Swagger UI draws some pictures from its own style sheet.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                           connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Malla",
        description = "Tasks in lanes: submit them, watch them, step in. Errors are problem documents (RFC 9457) \
                       with a stable `code`. Lists come in pages: follow `next_cursor` until it is null. Every write \
                       takes an `Idempotency-Key`: repeat it with the same key and it is carried out once."
    ),
    components(schemas(Problem)),
    tags(
        (name = "tasks", description = "What is to be done, and what became of it"),
        (name = "lanes", description = "Where tasks wait: ceiling, gap, pause"),
        (name = "notify", description = "Events in, and on to whoever subscribes"),
        (name = "fetch", description = "Pages for clients, fetched politely"),
        (name = "fleet", description = "What devices say to their server"),
        (name = "wiki", description = "Revision histories of MediaWikis: extracted, kept fresh, asked about"),
        (name = "analyze", description = "Record streams in, answers out, exactly once"),
        (name = "access", description = "Users, groups, tokens and the audit log"),
        (name = "cluster", description = "The processes that work together: members, leader, restarts"),
        (name = "house", description = "The server itself"),
    )
)]
struct Base;

/// The routes with their finished description.
pub(crate) fn document(routes: OpenApiRouter<App>) -> (Router<App>, OpenApi) {
    let (router, described) = routes.split_for_parts();
    let mut document = Base::openapi();
    document.info.version = env!("CARGO_PKG_VERSION").to_owned();
    document.merge(described);
    add_security_schemes(&mut document);
    for item in document.paths.paths.values_mut() {
        for (operation, writes) in operations(item) {
            complete(operation, writes);
        }
    }
    (router, document)
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&mut Operation, bool)> {
    let reads = item.get.iter_mut().map(|operation| (operation, false));
    let writes = [&mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
    reads.chain(writes.into_iter().flatten().map(|operation| (operation, true)))
}

/// What is the same for all: who may call, the key of a write, how a refusal looks.
fn complete(operation: &mut Operation, writes: bool) {
    let stated = operation.extensions.as_ref().and_then(|extensions| extensions.get(PERMISSION));
    let stated = stated.and_then(|name| name.as_str()).map(str::to_owned);
    let permission = stated.as_deref().and_then(permission_named);
    let needs = match permission {
        None if stated.as_deref() == Some(DEVICE) => {
            operation.security = Some(vec![SecurityRequirement::new(DEVICE, [""; 0])]);
            add_problem(operation, "401", "No secret, or one that is not a device's: join first");
            add_problem(operation, "403", "The device is blocked");
            "Needs the secret of a device.".to_owned()
        }
        Some(permission) => {
            let schemes = ["token", "session"];
            operation.security = Some(schemes.map(|name| SecurityRequirement::new(name, [""; 0])).to_vec());
            add_problem(operation, "401", "No token or session, or one that is wrong, expired or deleted");
            add_problem(operation, "403", "The caller's role is too small, or a session's write without its token");
            let roles = Role::ALL.into_iter().filter(|role| role.may(permission)).map(Role::name);
            format!("Needs the role {}.", roles.collect::<Vec<_>>().join(" or "))
        }
        None => "Needs no role.".to_owned(),
    };
    let text = operation.description.take().map_or(needs.clone(), |text| format!("{text}\n\n{needs}"));
    operation.description = Some(text);
    // What a device says twice counts once without a key.
    if writes && stated.as_deref() != Some(DEVICE) {
        operation.parameters.get_or_insert_default().push(RefOr::T(idempotency_parameter()));
    }
    add_problem(operation, "default", "Refused: `code` says why, `detail` says what to do");
}

fn permission_named(name: &str) -> Option<Permission> {
    match name {
        "see" => Some(Permission::See),
        "change" => Some(Permission::Change),
        "administer" => Some(Permission::Administer),
        _ => None,
    }
}

fn add_problem(operation: &mut Operation, status: &str, description: &str) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let response = ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build();
    operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
}

fn idempotency_parameter() -> utoipa::openapi::path::Parameter {
    ParameterBuilder::new()
        .name(IDEMPOTENCY_HEADER)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("1 to 255 visible ASCII characters. A repeat with the same key gets the first answer."))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).max_length(Some(255)).build()))
        .build()
}

fn add_security_schemes(document: &mut OpenApi) {
    let token =
        HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A token, from POST /api/v1/tokens"));
    let words = format!("The console's session. A write also carries the session's {CSRF_HEADER} header.");
    let session = ApiKeyValue::with_description(SESSION_COOKIE, &words);
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    let device = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("From POST /api/v1/fleet/join"));
    components.add_security_scheme(DEVICE, SecurityScheme::Http(device.build()));
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(session)));
}

/// `/openapi.json` and `/docs`.
pub(crate) fn docs(document: OpenApi) -> Router {
    let config = Config::default().use_base_layout().validator_url("none").display_request_duration(true);
    let ui = SwaggerUi::new("/docs").url("/openapi.json", document).config(config);
    Router::from(ui).layer(from_fn(strict_policy))
}

async fn strict_policy(request: Request, next: Next) -> Response<axum::body::Body> {
    let mut response = next.run(request).await;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(DOCS_POLICY));
    response
}
