//! The console in Spanish.

use serde_json::json;

use super::driver::Kind;
use super::house::House;

#[test]
fn a_browser_that_asks_for_spanish_gets_it_and_its_reader_may_choose_english() {
    let house = House::open();
    house.make("endpoints", json!({ "name": "orders" }));
    let browser = house.browser(Kind { language: "es", ..Kind::USUAL });
    browser.open("/login");
    browser.sees_heading("Entrar en Malla");
    browser.fill("Nombre de usuario", "admin");
    browser.fill("Contraseña", "ábrete sésamo");
    browser.press("Entrar");
    browser.sees("Este nombre de usuario y esta contraseña no coinciden.");
    browser.fill("Contraseña", &house.password);
    browser.press("Entrar");
    browser.sees_heading("Resumen");
    for (path, heading) in [
        ("/", "Resumen"),
        ("/tasks", "Tareas"),
        ("/lanes", "Carriles"),
        ("/notify/notifications", "Notificaciones"),
        ("/analyses", "Análisis"),
        ("/users", "Usuarios"),
        ("/groups", "Grupos"),
    ] {
        browser.open(path);
        browser.sees_heading(heading);
        assert_eq!(browser.ask("return document.documentElement.lang"), "es", "{path}");
        browser.does_not_see("Log out");
    }
    // What is sent to a page that is open speaks the same language.
    browser.open("/notify/events");
    browser.sees("en vivo ·");
    browser.remember();
    browser.sees(&house.desk.post("orders", "uno"));
    assert!(browser.remembers(), "the page was never loaded again");
    browser.does_not_see("Received");
    browser.press("Pausar");
    browser.sees("en pausa ·");

    browser.press("EN – English");
    browser.sees_heading("Events");
    assert_eq!(browser.ask("return document.documentElement.lang"), "en");
    browser.open("/");
    browser.sees_heading("Overview");
    browser.press("ES – Español");
    browser.sees_heading("Resumen");
}
