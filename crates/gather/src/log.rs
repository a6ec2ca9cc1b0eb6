//! The layer as SQLite sees it: the one of the system, except that a log gathers its writes.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use rusqlite::ffi;

use crate::gathered::Gathered;

const NAME: &CStr = c"malla-gather";

/// The layer of the system. It stays where it is as long as the process lives.
struct System(*mut ffi::sqlite3_vfs);

// SAFETY: it is never written after SQLite has made it, and its functions may be called by any thread.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

static SYSTEM: OnceLock<Result<System, c_int>> = OnceLock::new();

/// The name under which SQLite knows the layer.
pub(crate) fn layer() -> rusqlite::Result<&'static CStr> {
    match SYSTEM.get_or_init(register) {
        Ok(_) => Ok(NAME),
        Err(code) => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(*code), None)),
    }
}

fn register() -> Result<System, c_int> {
    // SAFETY: no name asks for the layer of the system, which exists as long as the process.
    let system = unsafe { ffi::sqlite3_vfs_find(null()) };
    if system.is_null() {
        return Err(ffi::SQLITE_ERROR);
    }
    // SAFETY: it is not null, so it is one.
    let system_layer = unsafe { &*system };
    let room = c_int::try_from(size_of::<Log>()).map_err(|_| ffi::SQLITE_ERROR)?;
    let layer = ffi::sqlite3_vfs {
        szOsFile: room + system_layer.szOsFile,
        pNext: null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        ..*system_layer
    };
    // SAFETY: SQLite keeps the pointer for as long as the process lives, and so does the leaked box.
    match unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(layer)), 0) } {
        ffi::SQLITE_OK => Ok(System(system)),
        code => Err(code),
    }
}

/// An open log. SQLite has made room for the system's own file right behind it.
#[repr(C)]
struct Log {
    base: ffi::sqlite3_file,
    /// From a box.
    gathered: *mut Gathered,
}

/// SAFETY (of all functions below): SQLite calls them with files that `open` has made and not closed, never two at a time
/// for one file, and with memory of the sizes that it tells.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(Ok(System(system))) = SYSTEM.get() else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: it is the layer of the system.
    let Some(open) = (unsafe { (**system).xOpen }) else { return ffi::SQLITE_CANTOPEN };
    if flags & ffi::SQLITE_OPEN_WAL == 0 {
        // SAFETY: `file` has more room than the system's own file needs.
        return unsafe { open(*system, name, file, flags, out_flags) };
    }
    let log = file.cast::<Log>();
    // SAFETY: `file` has room for a log and behind it for the system's own file.
    unsafe {
        (*log).base.pMethods = null();
        let code = open(*system, name, own(file), flags, out_flags);
        if code == ffi::SQLITE_OK {
            (*log).gathered = Box::into_raw(Box::default());
            (*log).base.pMethods = &raw const METHODS;
        }
        code
    }
}

/// The system's own file.
unsafe fn own(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: it lies right behind the log.
    unsafe { file.cast::<Log>().add(1).cast() }
}

/// Calls a function of the system's own file.
macro_rules! system {
    ($file:ident.$function:ident($($argument:expr),*)) => {{
        // SAFETY: the file is open, so the system's own file has its functions.
        unsafe {
            let own = own($file);
            match (*(*own).pMethods).$function {
                Some(function) => function(own, $($argument),*),
                None => ffi::SQLITE_NOTFOUND,
            }
        }
    }};
}

/// SQLite's own layer takes up to 128 KiB at once.
const PART: usize = 64 << 10;

fn write_to(file: *mut ffi::sqlite3_file) -> impl FnMut(&[u8], i64) -> c_int {
    move |bytes, mut at| {
        for part in bytes.chunks(PART) {
            let length = part.len() as c_int;
            match system!(file.xWrite(part.as_ptr().cast(), length, at)) {
                ffi::SQLITE_OK => at += i64::from(length),
                code => return code,
            }
        }
        ffi::SQLITE_OK
    }
}

/// Writes what is gathered, because somebody looks at the file.
fn pour(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open, so this was made and is used by nobody else.
    let gathered = unsafe { &mut *(*file.cast::<Log>()).gathered };
    gathered.pour(write_to(file))
}

/// Goes on with the rest once what is gathered is written.
macro_rules! poured {
    ($file:ident, $then:expr) => {
        match pour($file) {
            ffi::SQLITE_OK => $then,
            code => code,
        }
    };
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, bytes: *const c_void, length: c_int, at: i64) -> c_int {
    let Ok(length) = usize::try_from(length) else { return ffi::SQLITE_MISUSE };
    // SAFETY: SQLite gives as many bytes as it says.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    // SAFETY: the file is open, so this was made and is used by nobody else.
    let gathered = unsafe { &mut *(*file.cast::<Log>()).gathered };
    gathered.take(bytes, at, write_to(file))
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // What was committed is written already; the rest nobody wants.
    // SAFETY: from a box, and taken from it once: a closed file is not used again.
    drop(unsafe { Box::from_raw((*file.cast::<Log>()).gathered) });
    system!(file.xClose())
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, length: c_int, at: i64) -> c_int {
    poured!(file, system!(file.xRead(into, length, at)))
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    poured!(file, system!(file.xTruncate(size)))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    poured!(file, system!(file.xSync(flags)))
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    poured!(file, system!(file.xFileSize(size)))
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    system!(file.xLock(level))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    system!(file.xUnlock(level))
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, reserved: *mut c_int) -> c_int {
    system!(file.xCheckReservedLock(reserved))
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, what: c_int, argument: *mut c_void) -> c_int {
    system!(file.xFileControl(what, argument))
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    system!(file.xSectorSize())
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    system!(file.xDeviceCharacteristics())
}
