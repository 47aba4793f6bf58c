import express, { type Router } from 'express';
import { Problem } from '../../port/problem.ts';

const paths = /^\/v2\/(?:pre-recorded|transcription)(?:\/.*)?$/;

/** Routes of the interface that this version does not have answer 501, so that they do not seem mistyped. */
export function notBuilt(): Router {
  const router = express.Router();
  router.all(paths, (request) => {
    const [, , name = ''] = request.path.split('/');
    throw new Problem(
      501,
      `${name}: this part of the interface is not built yet; live sessions are`,
    );
  });
  return router;
}
