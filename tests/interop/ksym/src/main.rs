//! Asks the ksym crate what it reads in a blob:
//!
//!     ksym-reference BLOB limit                      the most bytes of a name
//!     ksym-reference BLOB dump
//!     ksym-reference BLOB addresses START END        hexadecimal addresses on standard input, one a line
//!     ksym-reference BLOB names                      names on standard input, one a line
//!     ksym-reference BLOB time START END             how many nanoseconds it takes by address, and by name: those on
//!                                                    standard input, "ADDRESS NAME" a line
//!
//! START and END are the bounds of the text. An answer is a line of fields with tabs between them; one dash is none.

use ksym::{KallsymsMapped, KSYM_NAME_LEN};
use std::io::{self, BufRead, BufWriter, Write};
use std::time::Instant;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&arguments[1])?;
    // The crate wants a mapping that begins at a page, and is content with one that begins at a multiple of 8.
    let mut words = vec![0u64; bytes.len() / 8 + 1];
    let blob = unsafe {
        let start = words.as_mut_ptr() as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        std::slice::from_raw_parts(start, bytes.len())
    };
    let bound = |at: usize| arguments.get(at).map_or(0, |text| hexadecimal(text));
    let symbols = KallsymsMapped::from_blob(blob, bound(3), bound(4)).map_err(io::Error::other)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments[2].as_str() {
        "limit" => writeln!(out, "{KSYM_NAME_LEN}"),
        "dump" => write!(out, "{}", symbols.dump_all_symbols()),
        "addresses" => answer(|line| by_address(&symbols, line), &mut out),
        "names" => answer(|line| by_name(&symbols, line), &mut out),
        "time" => time(&symbols, &mut out),
        other => Err(io::Error::other(format!("unknown command {other}"))),
    }
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a hexadecimal number")
}

fn answer(of: impl Fn(&str) -> Option<String>, out: &mut impl Write) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", of(&line?).as_deref().unwrap_or("-"))?;
    }
    Ok(())
}

/// The questions are asked in chunks, all of them several times. The figures are made of the best time of every chunk,
/// because other load on the machine can only make one slower.
fn time(symbols: &KallsymsMapped, out: &mut impl Write) -> io::Result<()> {
    let lines: Vec<String> = io::stdin().lock().lines().collect::<io::Result<_>>()?;
    let questions: Vec<(u64, &str)> = lines.iter().filter_map(|line| line.split_once(' '))
        .map(|(address, name)| (hexadecimal(address), name)).collect();
    let mut known = 0;
    let by_address = best(&questions, |(address, _)| {
        let mut buffer = [0; KSYM_NAME_LEN];
        known += symbols.lookup_address(*address, &mut buffer).is_some() as usize;
    });
    let by_name = best(&questions, |(_, name)| known += symbols.lookup_name(name).is_some() as usize);
    let count = questions.len() as f64;
    writeln!(out, "{:.1}\t{:.1}\t{known}", by_address / count, by_name / count)
}

fn best<T>(questions: &[T], mut ask: impl FnMut(&T)) -> f64 {
    const ROUNDS: usize = 25;
    const CHUNK: usize = 1000;
    let mut times = vec![f64::MAX; questions.len().div_ceil(CHUNK)];
    for _ in 0..ROUNDS {
        for (chunk, time) in questions.chunks(CHUNK).zip(times.iter_mut()) {
            let start = Instant::now();
            for question in chunk {
                ask(question);
            }
            *time = time.min(start.elapsed().as_nanos() as f64);
        }
    }
    times.iter().sum()
}

/// Name, size, offset and type.
fn by_address(symbols: &KallsymsMapped, line: &str) -> Option<String> {
    let mut buffer = [0; KSYM_NAME_LEN];
    let (name, size, offset, kind) = symbols.lookup_address(hexadecimal(line), &mut buffer)?;
    Some(format!("{name}\t{size:x}\t{offset:x}\t{kind}"))
}

/// The first and the last place in the order of names, and the address of the first.
fn by_name(symbols: &KallsymsMapped, name: &str) -> Option<String> {
    let (first, last) = symbols.lookup_names(name, true)?;
    Some(format!("{first}\t{last}\t{:x}", symbols.lookup_name(name)?))
}
