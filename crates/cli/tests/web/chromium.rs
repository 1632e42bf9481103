//! A headless Chromium that clicks and types as a test says, over the DevTools protocol on a pipe.

use crate::harness::scratch::Scratch;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A page that does not come to that by then never will.
pub const PATIENCE: Duration = Duration::from_secs(30);

const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1100,900",
    "--remote-debugging-pipe",
];

/// The browser and its connection.
pub struct Chromium {
    child: Child,
    profile: Scratch,
    pipe: RefCell<Pipe>,
}

struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    events: Vec<Value>,
}

impl Pipe {
    /// The result, or what the browser says is wrong.
    fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(b"\0").unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has gone");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == self.last {
                return match &answer["error"] {
                    Value::Null => Ok(answer["result"].clone()),
                    error => Err(format!("{method}: {error}")),
                };
            }
            self.events.push(answer);
        }
    }
}

impl Chromium {
    /// `None`, and says why, where there is no browser.
    pub fn start() -> Option<Self> {
        let name = [
            "chromium-headless-shell",
            "chromium",
            "chromium-browser",
            "google-chrome",
        ]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
        let Some(name) = name else {
            crate::harness::skipped("there is no chromium");
            return None;
        };
        let profile = Scratch::new();
        // The pipe is descriptors 3 and 4 of the browser.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null",
                name,
            ])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path("").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = Pipe {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            last: 0,
            events: Vec::new(),
        };
        Some(Self {
            child,
            profile,
            pipe: RefCell::new(pipe),
        })
    }

    /// Opens a page and waits until it is there.
    pub fn open(&self, address: &str) -> Page<'_> {
        let call = |session: Option<&str>, method: &str, params: Value| {
            let called = self.pipe.borrow_mut().call(session, method, &params);
            called.unwrap()
        };
        let target =
            call(None, "Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = call(
            None,
            "Target.attachToTarget",
            json!({ "targetId": target, "flatten": true }),
        );
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let page = Page {
            browser: self,
            session,
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.go(address);
        page
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its helpers end with it, a moment later.
        for _ in 0..20 {
            if std::fs::remove_dir_all(self.profile.path("")).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A tab.
pub struct Page<'a> {
    browser: &'a Chromium,
    session: String,
}

impl Page<'_> {
    fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, &params).unwrap()
    }

    fn try_call(&self, method: &str, params: &Value) -> Result<Value, String> {
        let mut pipe = self.browser.pipe.borrow_mut();
        pipe.call(Some(&self.session), method, params)
    }

    /// Goes to another address in the same tab.
    pub fn go(&self, address: &str) {
        let gone = self.call("Page.navigate", json!({ "url": address }));
        assert!(gone["errorText"].is_null(), "{address}: {gone}");
        self.wait("document.readyState === 'complete'");
    }

    /// The value of an expression in the page, or of its promise.
    pub fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression).unwrap()
    }

    fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.try_call("Runtime.evaluate", &params)?;
        match answer["exceptionDetails"].is_null() {
            true => Ok(answer["result"]["value"].clone()),
            false => Err(format!("{expression}: {answer}")),
        }
    }

    pub fn count(&self, selector: &str) -> u64 {
        let selector = json!(selector);
        self.eval(&format!("document.querySelectorAll({selector}).length"))
            .as_u64()
            .unwrap()
    }

    pub fn text(&self, selector: &str) -> String {
        let selector = json!(selector);
        let text = self.eval(&format!("document.querySelector({selector})?.innerText"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until this is true.
    pub fn wait(&self, condition: &str) {
        let begin = Instant::now();
        let expression = format!(
            "Boolean((() => {{ try {{ return {condition}; }} catch {{ return false; }} }})())"
        );
        // While the page gives way to another, nobody answers.
        while self.try_eval(&expression) != Ok(json!(true)) {
            assert!(
                begin.elapsed() < PATIENCE,
                "never: {condition}; {:?}",
                self.complaints()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until every figure is drawn by the script.
    pub fn wait_drawn(&self) {
        self.wait(
            "document.readyState === 'complete' && \
             [...document.querySelectorAll('figure')].every((f) => f.dataset.drawn === 'true')",
        );
    }

    /// Presses and releases the mouse in the middle of this element.
    pub fn click(&self, selector: &str) {
        let [x, y] = self.place(selector, 0.5);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    /// Presses at one place of an element, and releases at another: parts of its width from its left.
    pub fn drag(&self, selector: &str, from: f64, to: f64) {
        let [x, y] = self.place(selector, from);
        self.mouse("mouseMoved", x, y);
        self.mouse("mousePressed", x, y);
        let [x, y] = self.place(selector, to);
        self.mouse("mouseMoved", x, y);
        self.mouse("mouseReleased", x, y);
    }

    fn place(&self, selector: &str, part: f64) -> [f64; 2] {
        let found = self.eval(&format!(
            "(() => {{ const it = document.querySelector({}); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getClientRects()[0]; return [box.x + box.width * {part}, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        [0, 1].map(|k| found[k].as_f64().unwrap())
    }

    fn mouse(&self, kind: &str, x: f64, y: f64) {
        let buttons = u8::from(kind != "mouseReleased");
        let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Presses and releases a key.
    pub fn key(&self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, Some("\r")),
            "Tab" => (9, None),
            "ArrowLeft" => (37, None),
            "ArrowRight" => (39, None),
            " " => (32, Some(" ")),
            letter => (0, Some(letter)),
        };
        let mut params =
            json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if let Some(text) = text {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", params.clone());
        params["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", params);
    }

    /// Types text where the focus is.
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// What is saved goes into this directory.
    pub fn save_into(&self, directory: &Path) {
        let params = json!({ "behavior": "allow", "downloadPath": directory });
        let mut pipe = self.browser.pipe.borrow_mut();
        pipe.call(None, "Browser.setDownloadBehavior", &params)
            .unwrap();
    }

    /// Dark or light, and how wide.
    pub fn appear(&self, scheme: &str, width: u32) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
        let metrics =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// A picture of the whole page, where a directory for them is named.
    pub fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("PICTURES") else {
            return;
        };
        let path = Path::new(&directory).join(format!("{name}.png.base64"));
        std::fs::write(path, self.seen()).unwrap();
    }

    /// The whole page as it looks: a PNG in base64.
    pub fn seen(&self) -> String {
        let params = json!({ "format": "png", "captureBeyondViewport": true });
        let data = self.call("Page.captureScreenshot", params)["data"].clone();
        data.as_str().unwrap().to_owned()
    }

    /// What the page's scripts and its policy complained about, and what the page asked others for.
    pub fn complaints(&self) -> Vec<String> {
        let pipe = self.browser.pipe.borrow();
        let own = pipe
            .events
            .iter()
            .filter(|event| event["sessionId"] == self.session.as_str());
        let said = own.filter_map(|event| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if event["params"]["type"] == "error" => {
                Some(event["params"]["args"].to_string())
            }
            "Log.entryAdded" if event["params"]["entry"]["level"] == "error" => {
                Some(event["params"]["entry"].to_string())
            }
            "Network.requestWillBeSent" => outside(&event["params"]["request"]["url"]),
            _ => None,
        });
        said.collect()
    }
}

/// RFC 4648 §4.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.chunks(3).flat_map(|chunk| {
        let bits = chunk
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        let letter = move |k: usize| match k <= chunk.len() {
            true => char::from(ALPHABET[(bits >> (18 - 6 * k) & 63) as usize]),
            false => '=',
        };
        (0..4).map(letter)
    });
    letters.collect()
}

/// An address that is neither of this host nor of a file.
fn outside(url: &Value) -> Option<String> {
    let url = url.as_str()?;
    let known = ["file:", "about:", "data:", "blob:", "http://127.0.0.1:"];
    (!known.iter().any(|start| url.starts_with(start))).then(|| format!("asks for {url}"))
}
