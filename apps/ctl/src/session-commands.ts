import { type Command, flag, text } from '@tidegate/command-line/declare';

/** What opens, proves and ends a session of an operator: some acts are refused to API tokens. */
export const SESSIONS: readonly Command[] = [
  {
    name: 'login',
    summary: 'log in as an operator, and write the session to the token file',
    calls: [{ operands: ['NAME'], takes: ['code'] }],
    options: {
      code: text(
        'CODE',
        'the code of the authenticator app, or a recovery code; asked for where it is needed',
      ),
    },
    about: `For what no API token may do, such as publishing a policy or adding an operator. The password is asked for at the terminal, or is the
first line of the standard input; it is never an argument. The token file is readable for you alone, and is replaced if it holds
a session. An operator who has passkeys alone logs in with the console.`,
  },
  {
    name: 'step-up',
    summary: 'prove the password or a second factor again, for what demands a fresh proof',
    calls: [{ takes: ['code', 'password'] }],
    options: {
      code: text(
        'CODE',
        'the code of the authenticator app, or a recovery code; asked for where you have an app',
      ),
      password: flag('prove the password although you have an authenticator app'),
    },
    about: 'A proof counts for some minutes and for this session.',
  },
  {
    name: 'logout',
    summary: 'end the session, and remove the token file',
    calls: [{}],
    options: {},
    about: '',
  },
];
