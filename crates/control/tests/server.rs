//! The socket and clients of all kinds: some ask, others stall, babble, flood or die.

use crate::support::{ALICE, ALICES, BOB, BOBS, PATIENCE, VIDEO, manager, texts, with_server};
use hls_client::interface::{
    Change, Create, Destroy, Failure, Kind, Message, Move, Release, Reserve, Resume, Status, Suspend, Watch,
};
use hls_client::{Client, ClientError, MAX_REQUEST};
use hls_control::Peer;
use hls_units::Nanos;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::linux::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// A raw connection that does not wait for ever.
fn connect(path: &Path) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(stream)
}

fn send(stream: &mut BufReader<UnixStream>, bytes: &[u8]) {
    stream.get_mut().write_all(bytes).unwrap();
}

/// The next reply; `None`: the server has closed the connection.
fn receive(stream: &mut BufReader<UnixStream>) -> Option<Value> {
    let mut reply = Vec::new();
    stream.read_until(0, &mut reply).unwrap();
    (reply.pop()? == 0).then(|| serde_json::from_slice(&reply).unwrap())
}

/// The error that a message is answered with.
fn error_of(stream: &mut BufReader<UnixStream>, message: &str) -> String {
    send(stream, message.as_bytes());
    send(stream, &[0]);
    receive(stream).unwrap()["error"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_client_does_all_that_there_is() {
    let mut manager = manager();
    manager.engine().passes = Nanos::from_millis(30);
    with_server(manager, |path| {
        let mut hls = Client::connect_to(path).unwrap();
        let granted = hls.call(&create("proportional-share", "PS", &[])).unwrap();
        assert_eq!((&granted.scheduler[..], &granted.guarantee[..]), ("PS", "NULL"));
        hls.call(&Move { thread: BOBS, to: "PS".into(), parameters: texts(&[("share", "3")]) }).unwrap();
        hls.call(&Message { thread: BOBS, parameter: "share".into(), value: "4".into() }).unwrap();
        let granted = hls.call(&reserve(BOBS, "RESBH 3ms 30ms")).unwrap();
        assert_eq!((&granted.scheduler[..], &granted.guarantee[..]), ("RES", "RESBH 3ms 30ms"));
        let status = hls.call(&Status {}).unwrap();
        let thread = status.threads.iter().find(|thread| thread.thread == BOBS).unwrap();
        assert_eq!((&thread.scheduler[..], &thread.guarantee[..]), ("RES", "RESBH 3ms 30ms"));
        hls.call(&Release { thread: BOBS }).unwrap();
        hls.call(&Destroy { name: "PS".into() }).unwrap();
        let too_much = hls.call(&reserve(BOBS, "RESBH 20ms 30ms"));
        let Err(ClientError::Failure(Failure::Refused { mend, .. })) = too_much else {
            panic!("more than there is was granted")
        };
        assert_eq!(mend.as_deref(), Some("RESBH 12ms 30ms"));
        let of_none = hls.call(&Release { thread: 4711 });
        let Err(ClientError::Failure(Failure::NotFound { reason })) = of_none else { panic!("{of_none:?}") };
        assert!(reason.contains("4711"), "{reason}");
    });
}

/// A subscriber gets each change, whichever request or event it comes from; the subscription ends with the run.
#[test]
fn a_subscriber_gets_the_changes_as_they_come() {
    let (begun, has_begun) = mpsc::channel();
    let mut watching = None;
    with_server(manager(), |path| {
        let hls = Client::connect_to(path).unwrap();
        watching = Some(thread::spawn(move || {
            let mut changes = Vec::new();
            for reply in hls.subscribe(&Watch {}) {
                let Ok(reply) = reply else { return changes };
                changes.extend(reply.changes);
                begun.send(changes.len()).unwrap();
            }
            panic!("the last reply said that none follows")
        }));
        assert_eq!(has_begun.recv(), Ok(0), "the first reply comes at once");
        let mut hls = Client::connect_to(path).unwrap();
        hls.call(&create("round-robin", "RR", &[])).unwrap();
        hls.call(&Move { thread: BOBS, to: "RR".into(), parameters: texts(&[]) }).unwrap();
        hls.call(&Suspend { thread: BOBS, by: None }).unwrap();
        hls.call(&Resume { thread: BOBS }).unwrap();
        hls.call(&reserve(BOBS, "RESBH 3ms 30ms")).unwrap();
        hls.call(&reserve(BOBS, "RESBH 20ms 30ms")).unwrap_err();
        hls.call(&Release { thread: BOBS }).unwrap();
        hls.call(&Destroy { name: "RR".into() }).unwrap();
        while has_begun.recv().unwrap() < 7 {}
    });
    let changes = watching.unwrap().join().unwrap();
    let short = |change: &Change| {
        let [scheduler, guarantee] =
            [&change.scheduler, &change.guarantee].map(|text| text.clone().unwrap_or_default());
        (change.number, change.kind, scheduler, change.thread, guarantee)
    };
    let expected = [
        (1, Kind::Created, "RR", None, "NULL"),
        (2, Kind::Placed, "RR", Some(BOBS), "NULL"),
        (3, Kind::Suspended, "RR", Some(BOBS), ""),
        (4, Kind::Resumed, "RR", Some(BOBS), ""),
        (5, Kind::Placed, "RES", Some(BOBS), "RESBH 3ms 30ms"),
        (6, Kind::Released, "rest", Some(BOBS), ""),
        (7, Kind::Destroyed, "RR", None, ""),
    ];
    let expected = expected.map(|(number, kind, scheduler, thread, guarantee)| {
        (number, kind, scheduler.to_owned(), thread, guarantee.to_owned())
    });
    assert_eq!(changes.iter().map(short).collect::<Vec<_>>(), expected);
}

/// What a client does not read ends its subscription, and delays no other client. Without `more` there is none.
#[test]
fn a_subscriber_that_reads_nothing_is_cut_off() {
    with_server(manager(), |path| {
        let mut stream = connect(path);
        send(&mut stream, b"{\"method\":\"hls.Control.Watch\"}\0");
        assert_eq!(receive(&mut stream).unwrap()["error"], "org.varlink.service.ExpectedMore");
        send(&mut stream, b"{\"method\":\"hls.Control.Watch\",\"more\":true}\0");
        assert_eq!(receive(&mut stream).unwrap()["continues"], true);
        let mut hls = Client::connect_to(path).unwrap();
        for _ in 0..2_000 {
            hls.call(&create("round-robin", "RR", &[])).unwrap();
            hls.call(&Destroy { name: "RR".into() }).unwrap();
        }
        // Some seconds later the server has closed the connection. What it had sent can be read.
        poll(&mut [PollFd::new(stream.get_ref(), PollFlags::HUP)], None).unwrap();
        let replies = std::iter::from_fn(|| receive(&mut stream));
        let number = |reply: &Value| reply["parameters"]["changes"].as_array().unwrap().len();
        let got: usize = replies.map(|reply| number(&reply)).sum();
        assert!((1..4_000).contains(&got), "{got}");
    });
}

fn create(policy: &str, name: &str, parameters: &[(&str, &str)]) -> Create {
    let [policy, name, below] = [policy, name, "rest"].map(str::to_owned);
    Create { policy, name, below, parameters: texts(parameters) }
}

fn reserve(thread: u32, guarantee: &str) -> Reserve {
    Reserve { thread, guarantee: guarantee.to_owned(), below: None }
}

#[test]
fn what_is_no_call_gets_an_error() {
    with_server(manager(), |path| {
        for (message, error) in [
            ("", "hls.Control.Malformed"),
            ("{", "hls.Control.Malformed"),
            ("[]", "hls.Control.Malformed"),
            ("{\"method\": 3}", "hls.Control.Malformed"),
            ("{\"method\": \"a.b\", \"parameters\": 3}", "hls.Control.Malformed"),
            ("{\"method\": \"a.b\", \"oneway\": 3}", "hls.Control.Malformed"),
            ("{\"method\": \"hls.Control.Status\", \"upgrade\": true}", "hls.Control.Malformed"),
            (&"[".repeat(10_000), "hls.Control.Malformed"),
            ("\u{fffd}", "hls.Control.Malformed"),
        ] {
            let mut stream = connect(path);
            assert_eq!(error_of(&mut stream, message), error, "{message:?}");
            assert_eq!(receive(&mut stream), None, "what follows cannot be understood: {message:?}");
        }
    });
}

#[test]
fn wrong_calls_get_the_errors_of_the_protocol() {
    with_server(manager(), |path| {
        let mut stream = connect(path);
        let mut call = |method: &str, parameters: Value| {
            let call = json!({ "method": method, "parameters": parameters }).to_string();
            error_of(&mut stream, &call)
        };
        for (method, parameters, error) in [
            ("Status", json!({}), "MethodNotFound"),
            ("", json!({}), "MethodNotFound"),
            ("hls.Control.Reboot", json!({}), "MethodNotFound"),
            ("org.varlink.service.Reboot", json!({}), "MethodNotFound"),
            ("org.example.Status", json!({}), "InterfaceNotFound"),
            ("org.varlink.service.GetInterfaceDescription", json!({"interface": "a.b"}), "InterfaceNotFound"),
            ("hls.Control.Status", json!({"verbose": true}), "InvalidParameter"),
            ("hls.Control.Release", json!({}), "InvalidParameter"),
            ("hls.Control.Release", json!({"thread": "200"}), "InvalidParameter"),
            ("hls.Control.Release", json!({"thread": -1}), "InvalidParameter"),
            ("hls.Control.Release", json!({"thread": 0}), "InvalidParameter"),
            ("hls.Control.Release", json!({"thread": 1u64 << 40}), "InvalidParameter"),
            (
                "hls.Control.Move",
                json!({"thread": 200, "to": "rest", "parameters": {"share": 3}}),
                "InvalidParameter",
            ),
            ("hls.Control.Move", json!({"thread": 200, "to": "rest", "parameters": []}), "InvalidParameter"),
            ("hls.Control.Destroy", json!({"name": ["FP"]}), "InvalidParameter"),
        ] {
            let found = call(method, parameters);
            assert_eq!(found, format!("org.varlink.service.{error}"), "{method}");
        }
        assert_eq!(call("hls.Control.Release", json!({"thread": BOBS})), "none", "the connection goes on");
    });
}

#[test]
fn calls_may_come_in_pieces_or_together() {
    with_server(manager(), |path| {
        let mut stream = connect(path);
        for byte in b"{\"method\":\"hls.Control.Status\"}\0" {
            send(&mut stream, &[*byte]);
        }
        assert_eq!(receive(&mut stream).unwrap()["parameters"]["cpus"], 1);
        let oneway = "{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":200},\"oneway\":true}\0";
        let two =
            "{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":4711}}\0{\"method\":\"a.B\"}\0";
        send(&mut stream, [oneway, two].concat().as_bytes());
        assert_eq!(receive(&mut stream).unwrap()["error"], "hls.Control.NotFound");
        assert_eq!(receive(&mut stream).unwrap()["error"], "org.varlink.service.InterfaceNotFound");
    });
}

#[test]
fn a_request_that_is_too_long_ends_the_connection() {
    with_server(manager(), |path| {
        let mut stream = connect(path);
        // The server may close before all of it is written.
        let _ = stream.get_mut().write_all(&vec![b' '; 4 * MAX_REQUEST]);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || String::from_utf8_lossy(&rest).contains("hls.Control.Malformed"));
        Client::connect_to(path).unwrap().call(&Status {}).unwrap();
        // A message that just fits is read.
        let mut stream = connect(path);
        let call = "{\"method\":\"a.B\"}";
        send(&mut stream, call.as_bytes());
        send(&mut stream, &vec![b' '; MAX_REQUEST - call.len() - 1]);
        send(&mut stream, &[0]);
        assert_eq!(receive(&mut stream).unwrap()["error"], "org.varlink.service.InterfaceNotFound");
    });
}

#[test]
fn a_client_that_stalls_delays_no_other_and_is_dropped() {
    with_server(manager(), |path| {
        // Another client is answered before the stalled one is dropped. On a busy machine the answer may come later
        // than that, but not each time.
        let is_answered_first = || {
            let mut stalled = connect(path);
            assert_eq!(
                error_of(&mut stalled, "{\"method\":\"a.B\"}"),
                "org.varlink.service.InterfaceNotFound"
            );
            send(&mut stalled, b"{\"method\":");
            // This client asks for much and reads none of it.
            let mut deaf = connect(path);
            let status = b"{\"method\":\"hls.Control.Status\"}\0".repeat(2_000);
            deaf.get_ref().set_nonblocking(true).unwrap();
            let _ = deaf.get_mut().write(&status);
            let mut hls = Client::connect_to(path).unwrap();
            (0..10).for_each(|_| drop(hls.call(&Status {}).unwrap()));
            stalled.get_ref().set_nonblocking(true).unwrap();
            let is_there = stalled.fill_buf().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            stalled.get_ref().set_nonblocking(false).unwrap();
            assert_eq!(receive(&mut stalled).unwrap()["error"], "hls.Control.Malformed");
            assert_eq!(receive(&mut stalled), None);
            is_there
        };
        assert!((0..10).any(|_| is_answered_first()), "nobody waits for a stalled client");
    });
}

/// Open connections of root delay no client: each is answered at once, and is still open afterwards.
#[test]
fn every_open_connection_has_a_thread() {
    with_server(manager(), |path| {
        let mut open = Vec::new();
        for _ in 0..5 {
            let mut client = Client::connect_to(path).unwrap();
            client.call(&Status {}).unwrap();
            open.push(client);
        }
        // If a connection had had to wait for the end of another, that other one would have been closed as idle.
        open.iter_mut().for_each(|client| drop(client.call(&Status {}).unwrap()));
    });
}

/// Each client dies after it has sent a part of a request: the request is done or not done, and nothing in between.
#[test]
fn a_client_that_dies_leaves_the_hierarchy_as_before_or_after() {
    let requests = [
        json!({"method": "hls.Control.Create", "parameters":
            {"policy": "round-robin", "name": "RR", "below": "rest"}}),
        json!({"method": "hls.Control.Move", "parameters": {"thread": BOBS, "to": "RR"}}),
        json!({"method": "hls.Control.Reserve", "parameters": {"thread": BOBS, "guarantee": "RESBH 3ms 30ms"}}),
        json!({"method": "hls.Control.Message", "parameters":
            {"thread": BOBS, "parameter": "budget", "value": "4ms"}}),
        json!({"method": "hls.Control.Release", "parameters": {"thread": BOBS}}),
        json!({"method": "hls.Control.Destroy", "parameters": {"name": "RR"}}),
    ];
    let manager = with_server(manager(), |path| {
        let mut hls = Client::connect_to(path).unwrap();
        let mut state = || {
            let status = hls.call(&Status {}).unwrap();
            let schedulers: Vec<_> =
                status.schedulers.into_iter().map(|it| (it.name, it.processors.len())).collect();
            let threads: Vec<_> =
                status.threads.into_iter().map(|it| (it.thread, it.scheduler, it.guarantee)).collect();
            (schedulers, threads)
        };
        for request in requests {
            let message = format!("{request}\0").into_bytes();
            let before = state();
            for length in 0..message.len() {
                send(&mut connect(path), &message[..length]);
            }
            assert_eq!(state(), before, "{request}");
            // The whole request was sent, and no client waits for the answer.
            send(&mut connect(path), &message);
            while state() == before {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    drop(manager);
}

/// The engine was made without an optional policy: a request for a scheduler of that policy brings in an engine with
/// it.
#[test]
fn a_policy_that_was_left_out_comes_with_its_first_scheduler() {
    let bvt = hls_core::policies().iter().find(|policy| policy.name == "bvt").expect("it is built in");
    let mut manager = manager();
    manager.engine().left_out = Some(bvt.id);
    let mut manager = with_server(manager, |path| {
        let mut hls = Client::connect_to(path).unwrap();
        // If something else is wrong with the request, no engine is prepared.
        hls.call(&Create { below: "nowhere".into(), ..create("bvt", "B", &[]) }).unwrap_err();
        hls.call(&create("bvt", "B", &[("nonsense", "1")])).unwrap_err();
        hls.call(&create("bvt", "B", &[])).unwrap();
        assert!(hls.call(&Status {}).unwrap().schedulers.iter().any(|scheduler| scheduler.name == "B"));
    });
    assert_eq!(manager.engine().left_out, None);
}

/// Connects as this user, which this thread, and no other, then is.
fn connect_as(user: Peer, path: &Path) -> Client<'static> {
    let uid = Some(Uid::from_raw(user.uid));
    set_thread_res_uid(uid, uid, uid).unwrap();
    Client::connect_to(path).unwrap()
}

/// While an engine with a policy that was left out is made for one user, another user is answered, and root.
#[test]
fn nobody_else_waits_for_a_policy_that_was_left_out() {
    if std::fs::metadata("/proc/self").unwrap().st_uid() != 0 {
        println!("skipped: only root may be another user");
        return;
    }
    let bvt = hls_core::policies().iter().find(|policy| policy.name == "bvt").expect("it is built in");
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut manager = manager();
    manager.engine().left_out = Some(bvt.id);
    manager.engine().gate = Some((begun, may_go_on));
    let mut manager = with_server(manager, |path| {
        thread::scope(|scope| {
            let create = Create { below: "ALICE".into(), ..create("bvt", "B", &[]) };
            let of_alice = scope.spawn(move || connect_as(ALICE, path).call(&create).unwrap());
            has_begun.recv_timeout(PATIENCE).unwrap();
            let of_bob = scope.spawn(|| connect_as(BOB, path).call(&Status {}).unwrap());
            assert_eq!(of_bob.join().unwrap().schedulers.len(), 4);
            Client::connect_to(path).unwrap().call(&Status {}).unwrap();
            go_on.send(()).unwrap();
            assert_eq!(of_alice.join().unwrap().scheduler, "B");
        });
    });
    assert_eq!(manager.engine().left_out, None);
}

#[test]
fn two_clients_at_once_share_what_there_is() {
    let mut manager = manager();
    manager.engine().passes = Nanos::from_millis(20);
    with_server(manager, |path| {
        // 40% are free, so two of these reservations fit, never three.
        let attempts = std::thread::scope(|scope| {
            let one = |tid: u32| {
                scope.spawn(move || {
                    let mut hls = Client::connect_to(path).unwrap();
                    let one = |_| {
                        let granted = hls.call(&reserve(tid, "RESBH 4ms 20ms")).is_ok();
                        hls.call(&Release { thread: tid }).unwrap();
                        usize::from(granted)
                    };
                    (0..50).map(one).sum::<usize>()
                })
            };
            let threads: Vec<_> = ALICES.into_iter().map(one).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        println!("{attempts} of 150 reservations were granted");
        assert!(attempts >= 50, "one thread at least always finds room");
        let status = Client::connect_to(path).unwrap().call(&Status {}).unwrap();
        assert!(status.threads.iter().all(|thread| thread.scheduler != "RES" || thread.thread == VIDEO));
    });
}

#[test]
fn a_second_server_does_not_take_the_socket() {
    with_server(manager(), |path| {
        let error = hls_control::Socket::bind(path).err().expect("the first one lives");
        assert!(error.to_string().contains("a server on"), "{error}");
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a dead server left it behind");
    drop(hls_control::Socket::bind(&path).unwrap());
    std::fs::write(&path, "somebody's work").unwrap();
    let error = hls_control::Socket::bind(&path).err().expect("a file is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's work");
    let error = Client::connect_to(&path).err().expect("nobody listens");
    assert!(error.to_string().contains("expected `hls run"), "{error}");
}

/// The definitions that the server gives out can be read, and every method in them exists.
#[test]
fn the_definitions_match_the_service() {
    with_server(manager(), |path| {
        let mut stream = connect(path);
        let mut call = |method: String, parameters: Value| {
            let call = json!({ "method": method, "parameters": parameters });
            send(&mut stream, format!("{call}\0").as_bytes());
            receive(&mut stream).unwrap()
        };
        let info = call("org.varlink.service.GetInfo".into(), json!({}));
        assert_eq!(info["parameters"]["interfaces"], json!(["org.varlink.service", "hls.Control"]));
        for interface in ["org.varlink.service", "hls.Control"] {
            let description =
                call("org.varlink.service.GetInterfaceDescription".into(), json!({ "interface": interface }));
            let text = description["parameters"]["description"].as_str().unwrap();
            let read = zlink_idl::Interface::try_from(text).unwrap();
            assert_eq!(read.name().to_string(), interface);
            for method in read.methods() {
                let reply = call(format!("{interface}.{}", method.name()), json!({ "?": 1 }));
                assert_eq!(
                    reply["error"],
                    "org.varlink.service.InvalidParameter",
                    "{} is there",
                    method.name()
                );
            }
        }
    });
}

/// Root has a socket of its own, which is removed with the server; a client uses it if it may.
#[test]
fn root_has_a_door_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let of_root = |path: &std::path::Path| path.with_extension("sock.root");
    let mut left = None;
    with_server(manager(), |path| {
        let door = of_root(path);
        let mode = std::fs::metadata(&door).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let moved = path.with_extension("moved");
        std::fs::rename(path, &moved).unwrap();
        assert!(Client::connect_to(path).unwrap().call(&Status {}).is_ok(), "by root's socket");
        std::fs::rename(&moved, path).unwrap();
        std::fs::rename(&door, path.with_extension("away")).unwrap();
        assert!(Client::connect_to(path).unwrap().call(&Status {}).is_ok(), "by everybody's");
        std::fs::rename(path.with_extension("away"), &door).unwrap();
        left = Some(door);
    });
    assert!(!left.unwrap().exists());
}

/// After an operation that a bug of ours has interrupted, no request uses the hierarchy, and the server says so.
#[test]
fn a_panic_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let mut manager = manager();
    manager.engine().panics = true;
    let (socket, manager) = (hls_control::Socket::bind(&path).unwrap(), Mutex::new(manager));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| hls_control::serve(&socket, &manager, &AtomicBool::new(false)));
        let mut hls = Client::connect_to(&path).unwrap();
        let suspend = Suspend { thread: BOBS, by: None };
        let Err(ClientError::Connection(_)) = hls.call(&suspend) else { panic!("it was answered") };
        let error = server.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("not finished"), "{error}");
    });
}
