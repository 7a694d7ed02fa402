// Go's goroutines. The runner writes a request in a line, "pool COUNT", "steady BACKLOG COUNT" or "fib N LEAF", and reads the nanoseconds in a line of JSON.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// run starts so many goroutines, each of which counts itself, and waits until all have run.
func run(count int64) {
	left := count
	done := make(chan bool, 1)
	for i := int64(0); i < count; i++ {
		go func() {
			if atomic.AddInt64(&left, -1) == 0 {
				done <- true
			}
		}()
	}
	<-done
}

// A part is a quarter of the backlog: see CBench/steady.c.
type part struct {
	left int64
	free chan bool
}

// steady starts so many goroutines, of which at most backlog are outstanding, and waits until all have run.
func steady(backlog, count int64) int64 {
	var parts [4]part
	for i := range parts {
		parts[i].free = make(chan bool, 1)
		parts[i].free <- true
	}
	each := backlog / int64(len(parts))
	rounds := (count + each - 1) / each
	start := time.Now()
	for round := int64(0); round < rounds; round++ {
		part := &parts[round%int64(len(parts))]
		<-part.free
		atomic.StoreInt64(&part.left, each)
		for i := int64(0); i < each; i++ {
			go func() {
				if atomic.AddInt64(&part.left, -1) == 0 {
					part.free <- true
				}
			}()
		}
	}
	for i := range parts {
		<-parts[i].free
	}
	return time.Since(start).Nanoseconds() * count / (rounds * each)
}

func plain(n int64) int64 {
	if n < 2 {
		return n
	}
	return plain(n-1) + plain(n-2)
}

func fib(n, leaf int64) int64 {
	if n <= leaf {
		return plain(n)
	}
	other := make(chan int64, 1)
	go func() { other <- fib(n-1, leaf) }()
	mine := fib(n-2, leaf)
	return mine + <-other
}

func answer(words []string) int64 {
	first, _ := strconv.ParseInt(words[1], 10, 64)
	if words[0] == "pool" {
		start := time.Now()
		run(first)
		return time.Since(start).Nanoseconds()
	}
	if words[0] == "steady" {
		count, _ := strconv.ParseInt(words[2], 10, 64)
		return steady(first, count)
	}
	leaf, _ := strconv.ParseInt(words[2], 10, 64)
	fib(18, leaf) // the processors are awake
	start := time.Now()
	fib(first, leaf)
	return time.Since(start).Nanoseconds()
}

func main() {
	for i := 0; i < 3; i++ { // the memory is there
		run(1000000)
	}
	fmt.Println(`{"name": "Go", "answers": ["pool", "steady", "fib"]}`)
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		fmt.Printf("{\"values\": [%d]}\n", answer(strings.Fields(requests.Text())))
	}
}
