// Printable writes the table of characters that Go's strconv.IsPrint accepts as Rust source to standard output.
//
//	go run ./parity/printable > crates/managed-by/src/upstream/go/printable.rs
package main

import (
	"fmt"
	"strconv"
	"unicode"
)

func main() {
	fmt.Printf(`//! Written by parity/printable from Go's strconv.IsPrint (Unicode %s). Do not edit.

/// Returns true if Go prints the character unescaped. Callers handle ASCII.
pub(super) fn is_printable(c: char) -> bool {
    let c = u32::from(c);
    let after = RANGES.partition_point(|&(first, _)| first <= c);
    let last = after.checked_sub(1).and_then(|i| RANGES.get(i));
    last.is_some_and(|&(_, last)| c <= last)
}

/// First and last character of each run, in order.
#[rustfmt::skip]
static RANGES: &[(u32, u32)] = &[
`, unicode.Version)
	column := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !strconv.IsPrint(r) {
			continue
		}
		first := r
		for r < unicode.MaxRune && strconv.IsPrint(r+1) {
			r++
		}
		if column == 0 {
			fmt.Print("   ")
		}
		fmt.Printf(" (0x%x, 0x%x),", first, r)
		if column++; column == 6 {
			fmt.Println()
			column = 0
		}
	}
	if column > 0 {
		fmt.Println()
	}
	fmt.Println("];")
}
