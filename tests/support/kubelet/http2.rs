//! The parts of HTTP/2 that a gRPC call needs, without a check of `:authority`. The kubelet's server accepts values
//! that Rust libraries reject.

use std::io;

use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Frame types and flags: RFC 9113, section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The error code of a message that breaks the protocol (RFC 9113, section 7).
pub const PROTOCOL_ERROR: u32 = 1;

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    body: Vec<u8>,
}

/// Serves unary calls with one request type, for all methods, until the client disconnects.
pub async fn serve<M: Message + Default, F: Future<Output = Result<(), String>>>(
    mut connection: UnixStream,
    answer: impl Fn(M) -> F,
) -> io::Result<()> {
    let mut preface = [0; PREFACE.len()];
    connection.read_exact(&mut preface).await?;
    write(&mut connection, SETTINGS, 0, 0, &[]).await?;
    let mut message = Vec::new();
    loop {
        let frame = read(&mut connection).await?;
        acknowledge(&mut connection, &frame).await?;
        if frame.kind == GOAWAY {
            return Ok(());
        }
        if frame.kind != DATA {
            continue;
        }
        message.extend(&frame.body);
        if frame.flags & END_STREAM == 0 {
            continue;
        }
        let request = M::decode(message.get(5..).unwrap_or_default());
        message.clear();
        let result = match request {
            Ok(request) => answer(request).await,
            Err(error) => Err(error.to_string()),
        };
        let mut headers = vec![0x88]; // :status 200
        literal(&mut headers, "content-type", "application/grpc");
        if result.is_ok() {
            let stream = frame.stream;
            write(&mut connection, HEADERS, END_HEADERS, stream, &headers).await?;
            write(&mut connection, DATA, 0, stream, &[0; 5]).await?;
            headers.clear();
        }
        let (status, error) = match result {
            Ok(()) => ("0", String::new()),
            Err(error) => ("2", error),
        };
        literal(&mut headers, "grpc-status", status);
        literal(&mut headers, "grpc-message", &error);
        let flags = END_HEADERS | END_STREAM;
        write(&mut connection, HEADERS, flags, frame.stream, &headers).await?;
    }
}

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum CallResult {
    /// The server has responded.
    Accepted,
    /// The server has reset the stream with this error code.
    Reset(u32),
}

/// Calls a method with an empty message and this `:authority`.
pub async fn call(
    mut connection: UnixStream,
    authority: &str,
    method: &str,
) -> io::Result<CallResult> {
    connection.write_all(PREFACE).await?;
    write(&mut connection, SETTINGS, 0, 0, &[]).await?;
    let mut headers = vec![0x83, 0x86]; // :method POST, :scheme http
    literal(&mut headers, ":path", method);
    literal(&mut headers, ":authority", authority);
    literal(&mut headers, "content-type", "application/grpc");
    literal(&mut headers, "te", "trailers");
    write(&mut connection, HEADERS, END_HEADERS, 1, &headers).await?;
    write(&mut connection, DATA, END_STREAM, 1, &[0; 5]).await?;
    loop {
        let frame = read(&mut connection).await?;
        acknowledge(&mut connection, &frame).await?;
        match (frame.kind, frame.stream) {
            (HEADERS, 1) => return Ok(CallResult::Accepted),
            (RST_STREAM, 1) => {
                let code = frame
                    .body
                    .try_into()
                    .map_err(|_| io::ErrorKind::InvalidData)?;
                return Ok(CallResult::Reset(u32::from_be_bytes(code)));
            }
            _ => {}
        }
    }
}

async fn acknowledge(connection: &mut UnixStream, frame: &Frame) -> io::Result<()> {
    if frame.flags & ACK != 0 {
        return Ok(());
    }
    match frame.kind {
        SETTINGS => write(connection, SETTINGS, ACK, 0, &[]).await,
        PING => write(connection, PING, ACK, 0, &frame.body).await,
        _ => Ok(()),
    }
}

async fn read(connection: &mut UnixStream) -> io::Result<Frame> {
    let mut head = [0; 9];
    connection.read_exact(&mut head).await?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut body = vec![0; usize::try_from(length).unwrap()];
    connection.read_exact(&mut body).await?;
    let (kind, flags) = (head[3], head[4]);
    if matches!(kind, DATA | HEADERS) && flags & PADDED != 0 {
        let padding = usize::from(*body.first().ok_or(io::ErrorKind::InvalidData)?);
        body.truncate(body.len().saturating_sub(padding));
        body.remove(0);
    }
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Ok(Frame {
        kind,
        flags,
        stream,
        body,
    })
}

async fn write(
    connection: &mut UnixStream,
    kind: u8,
    flags: u8,
    stream: u32,
    body: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(body);
    connection.write_all(&frame).await
}

/// Appends a header without compression and indexing (RFC 7541, section 6.2.2).
fn literal(headers: &mut Vec<u8>, name: &str, value: &str) {
    headers.push(0);
    for text in [name, value] {
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 127);
        headers.push(length.expect("the header is shorter than 127 bytes"));
        headers.extend(text.as_bytes());
    }
}
