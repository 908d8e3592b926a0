use std::io::Read;
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let mut file = std::fs::File::open(f).unwrap();
    let judge = managed_by_requests::Judge::new(
        managed_by::Settings::default(),
        managed_by_requests::Releases::Chosen,
    );
    let mut replay = managed_by_requests::Replay::new(judge);
    let mut buf = Vec::new();
    let mut lines = 0;
    let mut n = 0;
    loop {
        let start = buf.len();
        buf.resize(start + (4 << 20), 0);
        let got = file.read(&mut buf[start..]).unwrap();
        buf.truncate(start + got);
        let end = managed_by_requests::complete(&buf, got == 0);
        lines += replay.chunk(&buf[..end], 0, lines, |_| n += 1);
        buf.drain(..end);
        if got == 0 {
            break;
        }
    }
    let t = replay.tally();
    println!(
        "{} docs {} judged {} denied {} warned {} steps {} live {}",
        t.documents,
        t.judged,
        t.denied,
        t.warned,
        n,
        replay.live(),
        t.unjudged_count()
    );
}
