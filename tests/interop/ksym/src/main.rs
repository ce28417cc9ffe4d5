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

/// The best of several rounds, because whatever else the machine does can only make a round slower.
fn time(symbols: &KallsymsMapped, out: &mut impl Write) -> io::Result<()> {
    let lines: Vec<String> = io::stdin().lock().lines().collect::<io::Result<_>>()?;
    let questions: Vec<(u64, &str)> = lines.iter().filter_map(|line| line.split_once(' '))
        .map(|(address, name)| (hexadecimal(address), name)).collect();
    let (mut by_address, mut by_name) = (f64::MAX, f64::MAX);
    let mut known = 0;
    for _ in 0..5 {
        let start = Instant::now();
        for (address, _) in &questions {
            let mut buffer = [0; KSYM_NAME_LEN];
            known += symbols.lookup_address(*address, &mut buffer).is_some() as usize;
        }
        by_address = by_address.min(start.elapsed().as_nanos() as f64);
        let start = Instant::now();
        for (_, name) in &questions {
            known += symbols.lookup_name(name).is_some() as usize;
        }
        by_name = by_name.min(start.elapsed().as_nanos() as f64);
    }
    let count = questions.len() as f64;
    writeln!(out, "{:.1}\t{:.1}\t{known}", by_address / count, by_name / count)
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
