// Runs a program as in a container or a sandbox that lacks newer system calls: without_calls PROGRAM [ARGUMENT]...
// The calls end with ENOSYS, also those of the C library and of the program's children.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE(number)                                                                                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)

int main(int count, char **arguments) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      REFUSE(SYS_pidfd_open),
      REFUSE(SYS_membarrier),
      REFUSE(SYS_rseq),
      REFUSE(SYS_getrandom),
      REFUSE(SYS_clone3),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (count < 2) return 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    perror("without_calls: seccomp");
    return 2;
  }
  execv(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 2;
}
