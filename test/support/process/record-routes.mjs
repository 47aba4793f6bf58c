// Preloaded into the program by a test: says each route as it is mounted.
import express from 'express';

const { route: original } = express.Router.prototype;
const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'all'];

express.Router.prototype.route = function (path) {
  const route = original.call(this, path);
  for (const method of methods) {
    const add = route[method];
    route[method] = function (...handlers) {
      process.stderr.write(`mounted ${method} ${path}\n`);
      return add.apply(this, handlers);
    };
  }
  return route;
};
