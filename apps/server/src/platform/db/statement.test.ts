import { expect, test } from 'vitest';
import { BY_KEY, BYTEWISE, perEngine } from './statement.ts';

test('a statement holds what differs between the engines in its place', () => {
  expect(perEngine`CREATE TABLE one (name TEXT${BYTEWISE} NOT NULL, ${'id'} INTEGER)${BY_KEY}`).toEqual({
    sqlite: 'CREATE TABLE one (name TEXT NOT NULL, id INTEGER) WITHOUT ROWID',
    postgres: 'CREATE TABLE one (name TEXT COLLATE "C" NOT NULL, id INTEGER)',
  });
});

test('a statement is made of statements that differ', () => {
  const columns = perEngine`name TEXT${BYTEWISE}`;
  expect(perEngine`CREATE TABLE one (${columns})`.postgres).toBe('CREATE TABLE one (name TEXT COLLATE "C")');
});
