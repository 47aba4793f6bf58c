// Preloaded into a program by a test: tells on a socket how much CPU its main thread has used.
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const path = process.env.TEST_CPU_METER;
// Children of the program inherit the variable: the name on the socket belongs to the first of them.
delete process.env.TEST_CPU_METER;

if (isMainThread && path !== undefined)
  createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', () => {
      const { user, system } = process.threadCpuUsage();
      socket.write(`${user + system}\n`);
    });
  })
    .listen(path)
    .unref();
