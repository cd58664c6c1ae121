//! Messages with file descriptors over a socket. The descriptors travel with the first byte of a message.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The most descriptors of a message.
const MOST: usize = 2;

/// Sends the first part of a message with the descriptors. Returns the rest of the message.
pub fn send_with<'m>(
    stream: &UnixStream,
    message: &'m [u8],
    descriptors: &[OwnedFd],
) -> io::Result<&'m [u8]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd> = descriptors.iter().map(AsFd::as_fd).collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let sent = sendmsg(stream, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(&message[sent..])
}

/// Appends some bytes and the descriptors that come with them to what was received before. Returns the number of
/// bytes.
pub fn receive_some(
    stream: &UnixStream,
    received: &mut Vec<u8>,
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut chunk = [0; 16 << 10];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut chunk)];
    let length = recvmsg(stream, parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            descriptors.extend(more);
        }
    }
    received.extend_from_slice(&chunk[..length]);
    Ok(length)
}
