// Java's ForkJoinPool. The runner writes a request in a line, "pool COUNT", "steady BACKLOG COUNT" or "fib N LEAF", and reads the nanoseconds in a line of JSON.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

public final class Peer {
    static final ForkJoinPool pool = new ForkJoinPool(Runtime.getRuntime().availableProcessors());

    /** Submits so many jobs from outside, each of which counts itself, and waits until all have run. */
    static void run(long count) {
        AtomicLong left = new AtomicLong(count);
        Thread waiter = Thread.currentThread();
        Runnable job = () -> {
            if (left.decrementAndGet() == 0) LockSupport.unpark(waiter);
        };
        for (long i = 0; i < count; i++) pool.execute(job);
        while (left.get() > 0) LockSupport.park();
    }

    /** A quarter of the backlog: see CBench/steady.c. */
    static final class Part {
        final AtomicLong left = new AtomicLong();
        final Semaphore free = new Semaphore(1);
    }

    /** Submits so many jobs from outside, of which at most `backlog` are outstanding, and waits until all have run. */
    static long steady(long backlog, long count) throws InterruptedException {
        Part[] parts = {new Part(), new Part(), new Part(), new Part()};
        long each = backlog / parts.length, rounds = (count + each - 1) / each, start = System.nanoTime();
        for (long round = 0; round < rounds; round++) {
            Part part = parts[(int) (round % parts.length)];
            part.free.acquire();
            part.left.set(each);
            for (long i = 0; i < each; i++)
                pool.execute(() -> {
                    if (part.left.decrementAndGet() == 0) part.free.release();
                });
        }
        for (Part part : parts) part.free.acquire();
        return (System.nanoTime() - start) * count / (rounds * each);
    }

    static long plain(long n) { return n < 2 ? n : plain(n - 1) + plain(n - 2); }

    static final class Fib extends RecursiveTask<Long> {
        final int n, leaf;

        Fib(int n, int leaf) {
            this.n = n;
            this.leaf = leaf;
        }

        @Override protected Long compute() {
            if (n <= leaf) return plain(n);
            Fib other = new Fib(n - 1, leaf);
            other.fork();
            long mine = new Fib(n - 2, leaf).compute();
            return mine + other.join();
        }
    }

    static long answer(String[] words) throws InterruptedException {
        if (words[0].equals("steady")) return steady(Long.parseLong(words[1]), Long.parseLong(words[2]));
        if (words[0].equals("pool")) {
            long count = Long.parseLong(words[1]), start = System.nanoTime();
            run(count);
            return System.nanoTime() - start;
        }
        int n = Integer.parseInt(words[1]), leaf = Integer.parseInt(words[2]);
        pool.invoke(new Fib(18, leaf)); // the workers are there, and awake
        long start = System.nanoTime();
        pool.invoke(new Fib(n, leaf));
        return System.nanoTime() - start;
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 5; i++) { // for the compiler
            run(200_000);
            steady(4_096, 200_000);
            pool.invoke(new Fib(26, 1));
            pool.invoke(new Fib(30, 14));
        }
        System.out.println("{\"name\": \"Java ForkJoinPool\", \"answers\": [\"pool\", \"steady\", \"fib\"]}");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = requests.readLine()) != null;)
            System.out.println("{\"values\": [" + answer(line.split(" ")) + "]}");
    }
}
